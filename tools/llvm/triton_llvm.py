"""LLVM as Triton's wheel carries it: it reads text, writes text, bitcode and PTX, and knows its intrinsics.

LLVM ends the process over what it does not take, so each question is asked in a child.
"""
import ctypes, os, re, tempfile

from triton._C import libtriton
from triton._C.libtriton import ir, llvm, nvidia

llvm.init_targets()
TRIPLE = "nvptx64-nvidia-cuda"


def in_child(work):
    """What `work` returns, a string; none where LLVM ended the process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            answer = work()
        except BaseException:
            os._exit(1)
        with os.fdopen(write, "w") as file:
            file.write(answer)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        answer = file.read()
    return answer if os.waitpid(child, 0)[1] == 0 else None


def ptx(text, target, features):
    """The PTX of LLVM assembly; none if LLVM has no code for it."""
    return in_child(lambda: llvm.translate_to_asm(text, TRIPLE, target, features, [], False, False, False))


def bitcode(text):
    """LLVM assembly as bitcode."""
    return llvm.to_bitcode(text, False)


def printed(path, names):
    """The functions of a file as this LLVM writes them: they are linked to declarations of them, which makes them internal."""
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write("module {\n" + "".join(f'llvm.func @"{name}"()\n' for name in names) + "}\n")
        file.flush()
        module = llvm.to_module(ir.parse_mlir_module(file.name, context), llvm.context())
    llvm.link_extern_libs(module, [path])
    text = str(module)
    for name in names:
        text = re.sub(r'^define internal ([^@\n]*@"?%s"?\()' % re.escape(name), r"define \1", text, flags=re.M)
    return text


class StringRef(ctypes.Structure):
    """A `StringRef` or an `ArrayRef`: the start and the length."""
    _fields_ = [("start", ctypes.c_void_p), ("length", ctypes.c_size_t)]


# What overloaded intrinsics of NVVM are asked for: the letter of each type, and the types one of these lists has.
OVERLOADS = ["p0", "p3", "p1", "i32", "f32", "p0p3", "i32i32", "f32f32", "p3i32", "i32p3", "p1i32", "i32p1", "f32p1"]


class Intrinsics:
    """The intrinsics that are compiled in, by LLVM's own C++ functions, which the library exports."""

    def __init__(self):
        self.library = ctypes.CDLL(libtriton.__file__, mode=ctypes.RTLD_GLOBAL)
        self.context = ctypes.create_string_buffer(4096)
        self.call("_ZN4llvm11LLVMContextC1Ev", None, self.context)
        pointer = lambda space: self.call("_ZN4llvm11PointerType3getERNS_11LLVMContextEj", ctypes.c_void_p, self.context, ctypes.c_uint(space))
        plain = lambda name: self.call(f"_ZN4llvm4Type{name}ERNS_11LLVMContextE", ctypes.c_void_p, self.context)
        self.types = {"p0": pointer(0), "p1": pointer(1), "p3": pointer(3), "i32": plain("10getInt32Ty"), "f32": plain("10getFloatTy")}

    def call(self, symbol, result, *arguments):
        function = getattr(self.library, symbol)
        function.restype = result
        return function(*arguments)

    def dumped(self, symbol, thing):
        """What a `dump()` writes to standard error."""
        with tempfile.TemporaryFile() as file:
            kept = os.dup(2)
            os.dup2(file.fileno(), 2)
            try:
                self.call(symbol, None, thing)
            finally:
                os.dup2(kept, 2)
                os.close(kept)
            file.seek(0)
            return file.read().decode().strip()

    def signature(self, number, types):
        """The type of an intrinsic, and which arguments are constants, tab between."""
        array = (ctypes.c_void_p * max(len(types), 1))(*types)
        list_of_types = StringRef(ctypes.cast(array, ctypes.c_void_p), len(types))
        ty = self.call("_ZN4llvm9Intrinsic7getTypeERNS_11LLVMContextEjNS_8ArrayRefIPNS_4TypeEEE", ctypes.c_void_p, self.context,
                       ctypes.c_uint(number), list_of_types)
        text = self.dumped("_ZNK4llvm4Type4dumpEv", ctypes.c_void_p(ty))
        attributes = ctypes.c_void_p(self.call("_ZN4llvm9Intrinsic13getAttributesERNS_11LLVMContextEjPNS_12FunctionTypeE", ctypes.c_void_p,
                                               self.context, ctypes.c_uint(number), ctypes.c_void_p(ty)))
        constants = re.findall(r"\{ arg\((\d+)\) => [^}]*immarg", self.dumped("_ZNK4llvm13AttributeList4dumpEv", ctypes.byref(attributes)))
        return f"{text}\t{' '.join(sorted(constants, key=int))}"

    def of_nvvm(self):
        """Name with the overload's suffix, type, and numbers of constant arguments, of each intrinsic of NVVM."""
        number = 0
        while True:
            number += 1
            name = in_child(lambda: self.name(number))
            if name is None:
                return
            if not name.startswith("llvm.nvvm."):
                continue
            if not self.call("_ZN4llvm9Intrinsic12isOverloadedEj", ctypes.c_bool, ctypes.c_uint(number)):
                yield name, *self.signature(number, []).split("\t")
                continue
            for overload in OVERLOADS:
                types = [self.types[part] for part in re.findall(r"p\d|[if]\d\d", overload)]
                found = in_child(lambda: self.signature(number, types))
                if found:
                    yield f"{name}.{overload}", *found.split("\t")
                    break

    def name(self, number):
        text = self.call("_ZN4llvm9Intrinsic11getBaseNameEj", StringRef, ctypes.c_uint(number))
        return ctypes.string_at(text.start, text.length).decode()
