"""Launches: results against numpy's, arguments that do not fit, reports."""

import numpy as np
import pytest
from kernels import HEADER, RACING, SAXPY, TWICE_LLVM, reduction, saxpy as saxpy_of, stores

import oriole_gpu


@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.float32), ("f64", np.float64)])
@pytest.mark.parametrize("strict", [False, True])
def test_saxpy(kind: str, dtype: type, strict: bool) -> None:
    compiled = oriole_gpu.compile(saxpy_of(kind, np.dtype(dtype).itemsize))
    # Small integers: every product and sum is exact, so that fused and separate are the same.
    x = np.arange(1000, dtype=dtype)
    y = np.arange(1000, dtype=dtype)[::-1].copy()
    expected = dtype(3) * x + y
    expected[990:] = y[990:]
    report = oriole_gpu.launch(compiled, "saxpy", 4, 256, 3.0, x, y, 990, strict=strict)
    assert np.array_equal(y, expected) and np.array_equal(x, np.arange(1000, dtype=dtype))
    assert (report.blocks, report.warps, report.timing, report.cycles, report.printed) == (4, 32, None, None, "")
    assert report.thread_instructions > report.warp_instructions > 32


def test_a_cubin_from_a_file_runs_like_one_just_compiled(saxpy: oriole_gpu.Compiled) -> None:
    for cubin in (saxpy.cubin, bytearray(saxpy.cubin), memoryview(saxpy.cubin)):
        y = np.full(8, 2, np.float32)
        oriole_gpu.launch(cubin, "saxpy", 1, 8, 0.5, np.full(8, 4, np.float32), y, 8)
        assert (y == 4).all()


def test_a_reduction_in_shared_memory() -> None:
    data = np.random.default_rng(1).integers(0, 1 << 32, 1024, dtype=np.uint32)
    sums = np.zeros(4, np.uint32)
    oriole_gpu.launch(oriole_gpu.compile(reduction()), "reduce", 4, 256, data, sums, check=True)
    assert np.array_equal(sums, data.reshape(4, 256).sum(axis=1, dtype=np.uint32))


def test_llvm_ir_runs() -> None:
    data = np.arange(32, dtype=np.int32)
    oriole_gpu.launch(oriole_gpu.compile(TWICE_LLVM), "twice", 1, 32, data, -3)
    assert np.array_equal(data, -3 * np.arange(32, dtype=np.int32))


@pytest.mark.parametrize(
    ("kind", "register", "value", "dtype"),
    [
        ("u8", "b16", 200, np.uint8),
        ("u8", "b16", np.uint8(7), np.uint8),
        ("s8", "b16", -5, np.int8),
        ("u8", "b16", True, np.uint8),
        ("s16", "b16", -30000, np.int16),
        ("u16", "b16", 0xFFFF, np.uint16),
        ("b16", "b16", np.float16(1.5), np.float16),
        ("u32", "b32", 0xDEADBEEF, np.uint32),
        ("s32", "b32", -(1 << 31), np.int32),
        ("b32", "b32", 0.1, np.float32),
        ("f32", "f32", 0.1, np.float32),
        ("f32", "f32", 3, np.float32),
        ("f32", "f32", np.float32(-0.0), np.float32),
        ("u64", "b64", (1 << 64) - 1, np.uint64),
        ("s64", "b64", np.int64(-2), np.int64),
        ("f64", "f64", 0.1, np.float64),
        ("f64", "f64", float("inf"), np.float64),
        ("b64", "b64", 0.1, np.float64),
    ],
)
@pytest.mark.parametrize("typed", [True, False])
def test_values_of_all_sizes(kind: str, register: str, value, dtype: type, typed: bool) -> None:
    compiled = oriole_gpu.compile(stores(kind, register))
    if not typed and isinstance(value, int) and kind[0] == "f":
        pytest.skip("without types an int is an integer")
    out = np.zeros(1, dtype)
    oriole_gpu.launch(compiled if typed else compiled.cubin, "put", 1, 1, value, out)
    assert out.tobytes() == np.array(value).astype(dtype).tobytes()


def test_aggregates_are_passed_as_bytes() -> None:
    pair = (
        HEADER
        + """.visible .entry sum(.param .align 4 .b8 pair[8], .param .u64 out) {
    .reg .b64 %out; .reg .b32 %a, %b;
    ld.param.u64 %out, [out]; ld.param.u32 %a, [pair]; ld.param.u32 %b, [pair+4]; add.u32 %a, %a, %b;
    st.global.u32 [%out], %a; ret;
}"""
    )
    compiled = oriole_gpu.compile(pair)
    out = np.zeros(1, np.uint32)
    numbers = np.array([(3, 4)], dtype="u4,u4")
    for value in (numbers.tobytes(), numbers[0]):
        out[0] = 0
        oriole_gpu.launch(compiled, "sum", 1, 1, value, out)
        assert out[0] == 7
    with pytest.raises(ValueError, match="argument 0 of sum.*8"):
        oriole_gpu.launch(compiled, "sum", 1, 1, b"123", out)


def test_an_array_given_twice_is_one_buffer(saxpy: oriole_gpu.Compiled) -> None:
    x = np.arange(16, dtype=np.float32)
    oriole_gpu.launch(saxpy, "saxpy", 1, 16, 2.0, x, x, 16)
    assert np.array_equal(x, 3 * np.arange(16, dtype=np.float32))


def test_arrays_that_share_memory_share_it_on_the_device(saxpy: oriole_gpu.Compiled) -> None:
    memory = np.arange(20, dtype=np.float32)
    # Blocks run in turn, so that what is read is what the block before has written.
    oriole_gpu.launch(saxpy, "saxpy", 4, 4, 2.0, memory[:16], memory[4:], 16, threads=1)
    wanted = np.arange(20, dtype=np.float32)
    for at in range(16):
        wanted[at + 4] += 2 * wanted[at]
    assert np.array_equal(memory, wanted)


def test_a_pointer_is_an_address_inside_of_an_array(saxpy: oriole_gpu.Compiled) -> None:
    x, y = np.arange(16, dtype=np.float32), np.zeros(8, np.float32)
    oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, oriole_gpu.Pointer(x, 16), oriole_gpu.Pointer(y), 8)
    assert np.array_equal(y, np.arange(4, 12, dtype=np.float32))
    with pytest.raises(oriole_gpu.KernelFault, match="argument 1"):
        oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, oriole_gpu.Pointer(x, 64), y, 8)
    with pytest.raises(oriole_gpu.KernelFault):
        oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, oriole_gpu.Pointer(x, -16), y, 8)


def test_shapes_and_types_of_arrays_do_not_matter(saxpy: oriole_gpu.Compiled) -> None:
    x, y = np.ones((2, 3, 4), np.float32), np.zeros(24, "f4,u1,u1,u1,u1").view("u1")
    oriole_gpu.launch(saxpy, "saxpy", (1, 1), [24], 1.0, x, y.view("f4"), np.uint32(24))
    assert (y.view("f4")[:24] == 1).all()
    scalar = np.array(5, np.float32)
    oriole_gpu.launch(saxpy, "saxpy", 1, 1, 2.0, scalar, scalar, 1)
    assert scalar == 15
    oriole_gpu.launch(saxpy, "saxpy", 1, 1, 2.0, np.zeros(0, np.float32), np.zeros(0, np.float32), 0)


def launched(compiled: oriole_gpu.Compiled, *args) -> None:
    oriole_gpu.launch(compiled, "saxpy", 1, 4, *args)


def test_arguments_that_do_not_fit(saxpy: oriole_gpu.Compiled) -> None:
    x, y = np.zeros(4, np.float32), np.zeros(4, np.float32)
    wrong = [
        (TypeError, r"takes 4 arguments .*\.f32 at offset 0.*, 3 were given", (1.0, x, y)),
        (TypeError, "5 were given", (1.0, x, y, 4, 5)),
        (TypeError, "argument 0 of saxpy .*address", (x, x, y, 4)),
        (TypeError, "argument 3 of saxpy .*u32, given was a float", (1.0, x, y, 4.0)),
        (TypeError, "argument 3 of saxpy .*str", (1.0, x, y, "4")),
        (TypeError, "argument 1 of saxpy .*list", (1.0, [1.0], y, 4)),
        (TypeError, "argument 0 of saxpy .*numpy.int32", (np.int32(1), x, y, 4)),
        (TypeError, "argument 1 of saxpy .*Python objects", (1.0, np.array([None]), y, 4)),
        (ValueError, "argument 0 of saxpy .*8 bytes .numpy.float64., the parameter has 4", (np.float64(1), x, y, 4)),
        (ValueError, "argument 3 of saxpy .*4294967296 does not fit into 32 bits", (1.0, x, y, 1 << 32)),
        (ValueError, "argument 3 of saxpy .*does not fit", (1.0, x, y, -(1 << 31) - 1)),
        (ValueError, "argument 0 of saxpy .*too large", (1e39, x, y, 4)),
        (ValueError, "argument 1 of saxpy .*not C-contiguous", (1.0, np.zeros(8, np.float32)[::2], y, 4)),
    ]
    for kind, said, args in wrong:
        with pytest.raises(kind, match=said):
            launched(saxpy, *args)


def test_impossible_launches(saxpy: oriole_gpu.Compiled) -> None:
    x = np.zeros(4, np.float32)
    for grid, block in ((0, 1), (1, 0), (1, 2000), (1, (1, 1, 1000)), (-1, 1), (1 << 32, 1), ((), 1), ((1, 1, 1, 1), 1)):
        with pytest.raises(ValueError):
            oriole_gpu.launch(saxpy, "saxpy", grid, block, 1.0, x, x, 4)
    with pytest.raises(ValueError, match="no kernel 'other'; the module has: saxpy"):
        oriole_gpu.launch(saxpy, "other", 1, 1)
    with pytest.raises(TypeError, match="module"):
        oriole_gpu.launch(SAXPY, "saxpy", 1, 1)  # type: ignore[arg-type]


def test_time_is_estimated_on_request(saxpy: oriole_gpu.Compiled) -> None:
    x = np.zeros(128, np.float32)
    report = oriole_gpu.launch(saxpy, "saxpy", 2, 64, 1.0, x, x, 128, timing=True)
    assert report.timing is not None
    # A load from memory alone takes hundreds of cycles.
    assert report.cycles == report.timing.cycles > 200
    assert report.timing.instructions == report.warp_instructions
    assert 0 < report.timing.occupancy <= 1
    assert report.timing.microseconds == pytest.approx(report.timing.cycles / report.timing.clock_mhz)
    assert sum(report.timing.stalls.values()) > 0


def test_blocks_that_race_have_one_order_on_request() -> None:
    racing, wanted = oriole_gpu.compile(RACING), 0
    for block in range(2000):
        wanted = (wanted * 3 + block) & 0xFFFFFFFF
    for threads in (None, 1, 8):
        word = np.zeros(1, np.uint32)
        oriole_gpu.launch(racing, "racing", 2000, 1, word, deterministic=True, threads=threads)
        assert word[0] == wanted


@pytest.mark.parametrize(
    ("settings", "kind", "said"),
    [
        ({"strict": "yes"}, TypeError, "strict: True or False is expected, not 'yes' .str."),
        ({"check": 1}, TypeError, "check: True or False is expected, not 1 .int."),
        ({"deterministic": None}, TypeError, "deterministic: True or False is expected, not None"),
        ({"threads": 0}, ValueError, "threads: an integer from 1 to .*, or None is expected, not 0 .int."),
        ({"threads": 1.5}, TypeError, "threads: .*not 1.5 .float."),
        ({"shared": -1}, ValueError, "shared: .*not -1 .int."),
        ({"timeout": "1"}, TypeError, "timeout: a number of seconds, or None is expected, not '1' .str."),
        ({"timeout": -1}, ValueError, "timeout"),
        ({"cluster": 1.5}, TypeError, "cluster: .*not 1.5 .float."),
        ({"cluster": "1"}, TypeError, "cluster: .*not '1' .str."),
    ],
)
def test_settings_are_named_with_what_they_take(saxpy: oriole_gpu.Compiled, settings, kind: type, said: str) -> None:
    x = np.zeros(4, np.float32)
    with pytest.raises(kind, match=said):
        oriole_gpu.launch(saxpy, "saxpy", 1, 4, 1.0, x, x, 4, **settings)


def test_sizes_are_named_with_what_they_take(saxpy: oriole_gpu.Compiled) -> None:
    x = np.zeros(4, np.float32)
    with pytest.raises(TypeError, match="grid: an integer from 0 to .* is expected, not 0.5 .float."):
        oriole_gpu.launch(saxpy, "saxpy", 2 / 4, 4, 1.0, x, x, 4)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="entry: a str is expected, not 3 .int."):
        oriole_gpu.launch(saxpy, 3, 1, 4, 1.0, x, x, 4)  # type: ignore[arg-type]
    oriole_gpu.launch(saxpy, "saxpy", np.int64(1), np.array([4, 1]), 1.0, x, x, 4)  # type: ignore[arg-type]


def test_what_kernels_print_is_in_the_report() -> None:
    printing = (
        HEADER
        + """.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[4] = {104, 105, 10, 0};
.visible .entry k() {
    .reg .b64 %p, %z;
    mov.u64 %p, text; cvta.global.u64 %p, %p; mov.u64 %z, 0;
    { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %p; st.param.b64 [a], %z;
      call.uni (r), vprintf, (f, a); }
    ret;
}"""
    )
    assert oriole_gpu.launch(oriole_gpu.compile(printing), "k", 2, 1).printed == "hi\nhi\n"


def test_kernels_are_launched_by_subscript(tmp_path) -> None:
    path = tmp_path / "saxpy.ptx"
    path.write_text(SAXPY)
    for source in (SAXPY, path, str(path)):
        kernel = oriole_gpu.kernel(source, strict=True, opt_level=1)
        y = np.zeros(8, np.float32)
        assert kernel[2, 4](2.0, np.ones(8, np.float32), y, 8).blocks == 2
        assert (y == 2).all()
        assert kernel[(2, 1), (4, 1, 1), 64](1.0, y, y, 8, timing=True).cycles
    assert kernel.settings == {"strict": True} and len(kernel.parameters) == 4
    with pytest.raises(TypeError, match=r"kernel\[grid, block\]"):
        kernel(1.0)
    with pytest.raises(TypeError, match=r"kernel\[grid, block\]"):
        kernel[4]
    with pytest.raises(ValueError, match="entry"):
        oriole_gpu.kernel(HEADER)


def test_addresses_inside_of_an_aggregate() -> None:
    """A structure of two pointers: the kernel copies a word from one to the other."""
    ptx = """.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .align 8 .b8 pair[16]) {
    .reg .b64 %a, %b; .reg .b32 %v;
    ld.param.u64 %a, [pair]; ld.param.u64 %b, [pair+8];
    ld.global.u32 %v, [%a]; st.global.u32 [%b], %v;
    ret;
}"""
    compiled = oriole_gpu.compile(ptx, "sm_80")
    given, got = np.array([1, 2, 3], np.uint32), np.zeros(2, np.uint32)
    pair = oriole_gpu.Aggregate(bytes(16), {0: oriole_gpu.Pointer(given, 4), 8: oriole_gpu.Pointer(got, 4)})
    oriole_gpu.launch(compiled, "copy", 1, 1, pair)
    assert got.tolist() == [0, 2]
    with pytest.raises(ValueError, match="a pointer at byte 9 of an Aggregate of 16"):
        oriole_gpu.launch(compiled, "copy", 1, 1, oriole_gpu.Aggregate(bytes(16), {9: oriole_gpu.Pointer(given)}))
    with pytest.raises(ValueError, match="given were 8 bytes"):
        oriole_gpu.launch(compiled, "copy", 1, 1, oriole_gpu.Aggregate(bytes(8), {}))
