import numpy

def test_twice(oriole_kernel):
    twice = oriole_kernel("twice.ptx", "twice")     # the file beside the test, and the kernel
    data = numpy.arange(4, dtype=numpy.uint32)
    twice[1, 4](data)                               # grid, block; arrays are copied in, and back
    assert list(data) == [0, 2, 4, 6]
