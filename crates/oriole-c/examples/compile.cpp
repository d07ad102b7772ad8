// The compiler in a class of C++, and what it says of a module that is wrong.
//
//   c++ -std=c++17 compile.cpp $(pkg-config --cflags --libs oriole) -o compile
#include <oriole.h>

#include <cstddef>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Turns results into exceptions.
void check(orioleResult result) {
    if (result != ORIOLE_SUCCESS) {
        throw std::runtime_error(orioleGetResultString(result));
    }
}

// A compiler that is destroyed with its object.
class Compiler {
public:
    explicit Compiler(std::string_view module) { check(orioleCompilerCreate(&handle, module.size(), module.data())); }
    ~Compiler() { orioleCompilerDestroy(&handle); }
    Compiler(const Compiler &) = delete;
    Compiler &operator=(const Compiler &) = delete;

    orioleResult compile(const std::vector<const char *> &options) {
        return orioleCompilerCompile(handle, static_cast<int>(options.size()), options.data());
    }

    std::vector<std::byte> program() const {
        std::size_t size = 0;
        check(orioleCompilerGetCompiledProgramSize(handle, &size));
        std::vector<std::byte> bytes(size);
        check(orioleCompilerGetCompiledProgram(handle, bytes.data()));
        return bytes;
    }

    std::string errorLog() const {
        std::size_t size = 0;
        check(orioleCompilerGetErrorLogSize(handle, &size));
        if (size == 0) {
            return {};
        }
        std::string log(size, '\0');
        check(orioleCompilerGetErrorLog(handle, log.data()));
        log.pop_back(); // the zero at its end
        return log;
    }

private:
    orioleCompilerHandle handle = nullptr;
};

constexpr std::string_view right = ".version 8.0\n"
                                   ".target sm_90\n"
                                   ".address_size 64\n"
                                   ".visible .entry store(.param .u64 out) {\n"
                                   "    .reg .b64 %out;\n"
                                   "    ld.param.u64 %out, [out];\n"
                                   "    st.global.u32 [%out], 7;\n"
                                   "    ret;\n"
                                   "}\n";

// The same with a register that is not declared.
std::string wrong() {
    std::string text(right);
    text.replace(text.find("[%out], 7"), 9, "[%out], %seven");
    return text;
}

} // namespace

int main() {
    try {
        Compiler good(right);
        check(good.compile({"-arch", "sm_90"}));
        std::cout << good.program().size() << " bytes of cubin\n";

        Compiler bad(wrong());
        orioleResult result = bad.compile({"-arch", "sm_90"});
        std::cout << orioleGetResultString(result) << '\n' << bad.errorLog();
        bool told = bad.errorLog().find("%seven") != std::string::npos;
        return result == ORIOLE_ERROR_COMPILATION_FAILURE && told ? 0 : 1;
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
