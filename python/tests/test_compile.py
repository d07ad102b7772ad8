"""Compiling: what there is of a module, and what goes wrong."""

import copy
import pickle
import re

import numpy as np
import pytest
from kernels import HEADER, SAXPY, TWICE_LLVM, reduction

import oriole_gpu


def test_a_module_has_its_kernels_and_their_needs(saxpy: oriole_gpu.Compiled) -> None:
    assert saxpy.target == "sm_90"
    assert saxpy.cubin[:4] == b"\x7fELF"
    (kernel,) = saxpy.kernels
    assert kernel == saxpy.kernel("saxpy")
    assert 4 <= kernel.registers <= 32
    assert (kernel.spill_stores, kernel.spill_loads, kernel.shared_bytes) == (0, 0, 0)
    places = [(parameter.offset, parameter.size, parameter.type) for parameter in kernel.parameters]
    assert places == [(0, 4, "f32"), (8, 8, "u64"), (16, 8, "u64"), (24, 4, "u32")]
    assert oriole_gpu.compile(reduction()).kernel("reduce").shared_bytes >= 1024
    with pytest.raises(ValueError, match="no kernel 'other'; the module has: saxpy"):
        saxpy.kernel("other")


def test_the_log_reads_like_that_of_ptxas(saxpy: oriole_gpu.Compiled) -> None:
    lines = saxpy.log.splitlines()
    assert lines[0] == "ptxas info    : 0 bytes gmem"
    assert lines[1] == "ptxas info    : Compiling entry function 'saxpy' for 'sm_90'"
    assert lines[3] == "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
    assert lines[4].startswith(f"ptxas info    : Used {saxpy.kernels[0].registers} registers, used 0 barriers")


def test_code_is_shown_as_text_and_for_notebooks(saxpy: oriole_gpu.Compiled) -> None:
    sass = saxpy.sass()
    assert "FFMA" in sass and "STG.E" in sass
    assert saxpy.sass("saxpy") == sass == oriole_gpu.disassemble(saxpy.cubin) == oriole_gpu.disassemble(saxpy)
    page = saxpy._repr_html_()
    assert page.count("<table") == 2 and "saxpy" in page
    store = SAXPY.splitlines().index("    st.global.f32 [%y], %w;") + 1
    assert any("STG.E" in row and f">{store}<" in row for row in page.split("<tr>"))
    # Every instruction has its row.
    assert page.count("<tr>") == 2 + 1 + sum(line.strip() != "" for line in sass.strip().splitlines()[1:])


def test_live_registers_are_counted_on_request(saxpy: oriole_gpu.Compiled) -> None:
    counted = oriole_gpu.compile(SAXPY, file_name="saxpy.ptx", live=True)
    assert counted.cubin == saxpy.cubin and saxpy.kernels[0].live == ()
    (kernel,) = counted.kernels
    peak = max(at.registers for at in kernel.live)
    assert 0 < peak <= kernel.registers
    assert any(at.line is not None and "FFMA" in at.instruction for at in kernel.live)
    page = counted._repr_html_()
    assert page.count("<table") == 2 and f"at most {peak}" in page and "bold" in page
    # Each instruction of the kernel has its own, in the order in which the code is printed; at the end nothing is live.
    listed = re.findall(r"/\*([0-9a-f]+)\*/ \S+ (?:@!?\S+ )?([A-Z0-9]+)", counted.sass())
    for at, (address, opcode) in zip(kernel.live, listed):
        assert at.offset == int(address, 16) and opcode in at.instruction
        counts = f"{at.registers}</td><td style='text-align: left; white-space: pre'>{at.uniform_registers}</td>"
        assert any(f">{address}<" in row and f">{counts}" in row for row in page.split("<tr")), address
    assert "EXIT" in kernel.live[-1].instruction and kernel.live[-1].registers == 0


def test_what_names_hold_is_no_markup() -> None:
    page = oriole_gpu.compile(HEADER + ".visible .entry k() { ret; }", file_name="<b>")._repr_html_()
    assert "<b>" not in page
    assert oriole_gpu.compile(HEADER)._repr_html_().count("<table") == 1


def test_cubins_are_saved(saxpy: oriole_gpu.Compiled, tmp_path) -> None:
    path = tmp_path / "saxpy.cubin"
    saxpy.save(path)
    assert path.read_bytes() == saxpy.cubin
    with pytest.raises(OSError):
        saxpy.save(tmp_path / "no" / "folder")


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"])
def test_targets(arch: str) -> None:
    assert oriole_gpu.compile(SAXPY, arch=arch).target == arch


def test_settings_have_effect() -> None:
    default = oriole_gpu.compile(SAXPY)
    assert oriole_gpu.compile(SAXPY).cubin == default.cubin == oriole_gpu.compile(SAXPY.encode() + b"\0").cubin
    assert oriole_gpu.compile(SAXPY, None).target == "sm_80"
    assert oriole_gpu.compile(SAXPY, opt_level=0).cubin != default.cubin
    assert b".debug_line" in oriole_gpu.compile(SAXPY, lineinfo=True).cubin
    assert b".debug_info" in oriole_gpu.compile(SAXPY, debug=True).cubin
    two = SAXPY + SAXPY[len(HEADER) :].replace("saxpy", "other")
    assert [kernel.name for kernel in oriole_gpu.compile(two).kernels] == ["saxpy", "other"]
    assert [kernel.name for kernel in oriole_gpu.compile(two, entries=["other"]).kernels] == ["other"]


def test_products_and_sums_stay_apart_without_fmad() -> None:
    separate = SAXPY.replace("fma.rn.f32 %w, %a, %v, %w;", "mul.f32 %v, %a, %v; add.f32 %w, %v, %w;")
    assert "FFMA" in oriole_gpu.compile(separate).sass()
    apart = oriole_gpu.compile(separate, fmad=False).sass()
    assert "FFMA" not in apart and "FMUL" in apart and "FADD" in apart


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"arch": "sm_12"}, "sm_12"),
        ({"opt_level": 4}, "opt_level"),
        ({"opt_level": 3, "debug": True}, "debug"),
        ({"knobs": {"nonsense": 1}}, "nonsense"),
        ({"disabled_passes": ["nonsense"]}, "nonsense"),
        ({"fast_compile": "much"}, "fast_compile"),
        ({"language": "cuda"}, "language"),
        ({"timeout": -1.0}, "timeout"),
    ],
)
def test_settings_that_make_no_sense(settings, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        oriole_gpu.compile(SAXPY, **settings)


@pytest.mark.parametrize(
    ("settings", "kind", "said"),
    [
        ({"arch": 90}, TypeError, "arch: a str, or None is expected, not 90 .int."),
        ({"language": 1}, TypeError, "language: a str, or None is expected, not 1 .int."),
        ({"opt_level": "3"}, TypeError, "opt_level: an integer from 0 to 3 is expected, not '3' .str."),
        ({"opt_level": 3.0}, TypeError, "opt_level: an integer from 0 to 3 is expected, not 3.0 .float."),
        ({"maxrregcount": -1}, ValueError, "maxrregcount: .*not -1 .int."),
        ({"jobs": 0}, ValueError, "jobs: an integer from 1 to .* is expected, not 0 .int."),
        ({"verify": "no"}, TypeError, "verify: True or False is expected, not 'no' .str."),
        ({"entries": "saxpy"}, TypeError, "entries: a list of names is expected, not 'saxpy' .str."),
        ({"entries": [1]}, TypeError, "entries: a list of names is expected, not 1 .int."),
        ({"disabled_passes": 1}, TypeError, "disabled_passes: a list of names is expected, not 1 .int."),
        ({"knobs": ["contract"]}, TypeError, "knobs: a mapping of names is expected, not .'contract'. .list."),
        ({"libraries": {"a": "text"}}, TypeError, "libraries: a: LLVM bitcode as bytes is expected, not 'text' .str."),
        ({"timeout": "soon"}, TypeError, "timeout: a number of seconds, or None is expected, not 'soon' .str."),
        ({"file_name": b"k" * 100}, TypeError, "file_name: a str is expected, not a bytes"),
    ],
)
def test_settings_are_named_with_what_they_take(settings, kind: type, said: str) -> None:
    with pytest.raises(kind, match=said):
        oriole_gpu.compile(SAXPY, **settings)


def test_sources_of_wrong_types() -> None:
    with pytest.raises(TypeError, match="source"):
        oriole_gpu.compile(7)  # type: ignore[arg-type]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_modules_go_from_process_to_process(protocol: int) -> None:
    compiled = oriole_gpu.compile(SAXPY, file_name="saxpy.ptx", live=True)
    for again in (pickle.loads(pickle.dumps(compiled, protocol)), copy.copy(compiled), copy.deepcopy(compiled)):
        assert again.cubin == compiled.cubin and again.log == compiled.log and again.kernels == compiled.kernels
        assert again._repr_html_() == compiled._repr_html_()
        x = np.zeros(4, np.float32)
        # Types of parameters and lines of the PTX come along.
        with pytest.raises(TypeError, match=r"argument 3 of saxpy .*\.u32"):
            oriole_gpu.launch(again, "saxpy", 1, 4, 1.0, x, x, 4.0)
        with pytest.raises(oriole_gpu.KernelFault) as caught:
            oriole_gpu.launch(again, "saxpy", 1, 8, 1.0, x, x, 8)
        line = SAXPY.splitlines().index("    ld.global.f32 %v, [%x]; ld.global.f32 %w, [%y];") + 1
        assert (caught.value.file, caught.value.line) == ("saxpy.ptx", line)


def test_kernels_and_reports_go_from_process_to_process(saxpy: oriole_gpu.Compiled) -> None:
    x = np.ones(4, np.float32)
    launcher = pickle.loads(pickle.dumps(oriole_gpu.kernel(SAXPY, strict=True)))
    report = launcher[1, 4](1.0, x, x, 4, timing=True)
    assert (x == 2).all() and launcher.settings == {"strict": True}
    assert pickle.loads(pickle.dumps(report)) == report


def test_errors_have_their_places() -> None:
    with pytest.raises(oriole_gpu.CompileError) as caught:
        oriole_gpu.compile(SAXPY.replace("st.global.f32", "st.global.f64"), file_name="wrong.ptx")
    (diagnostic,) = caught.value.diagnostics
    line = SAXPY.splitlines().index("    st.global.f32 [%y], %w;") + 1
    assert (diagnostic.severity, diagnostic.line) == ("error", line)
    assert diagnostic.column is not None and diagnostic.column > 4
    assert diagnostic.message and diagnostic.rule and diagnostic.notes
    said = str(caught.value)
    assert f"wrong.ptx:{line}:" in said and "st.global.f64 [%y], %w;" in said


def test_every_error_is_told() -> None:
    with pytest.raises(oriole_gpu.CompileError) as caught:
        oriole_gpu.compile(HEADER + ".visible .entry k() {\n    mov.u32 %a, 1;\n    mov.u32 %b, 1;\n    ret;\n}\n")
    assert [diagnostic.line for diagnostic in caught.value.diagnostics] == [5, 6]


def test_errors_that_no_place_is_to_blame_for() -> None:
    with pytest.raises(oriole_gpu.CompileError, match="no kernel 'other'; the module has: saxpy") as caught:
        oriole_gpu.compile(SAXPY, entries=["other"])
    assert caught.value.diagnostics == ()
    with pytest.raises(oriole_gpu.CompileError):
        oriole_gpu.compile("")


def test_llvm_ir_is_recognised() -> None:
    compiled = oriole_gpu.compile(TWICE_LLVM)
    assert compiled.kernels[0].name == "twice"
    assert compiled.cubin == oriole_gpu.compile(TWICE_LLVM.encode(), language="llvm").cubin
    assert oriole_gpu.compile("// PTX; no module\n" + SAXPY).kernels[0].name == "saxpy"
    with pytest.raises(oriole_gpu.CompileError) as caught:
        oriole_gpu.compile(TWICE_LLVM.replace("mul i32", "mull i32"))
    assert caught.value.diagnostics[0].line == 8


def test_what_is_no_cubin_is_refused() -> None:
    for call in (oriole_gpu.disassemble, lambda cubin: oriole_gpu.launch(cubin, "k", 1, 1)):
        with pytest.raises(ValueError):
            call(b"no cubin")
