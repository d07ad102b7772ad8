"""Where the threads of a warp hold the elements of matrices: the figures and formulas of the PTX manual, section 9.7.14."""

LANES = 32


def group(lane):
    return lane >> 2, lane % 4


class Fragment:
    """Of each lane and register the elements in it, lowest first: (row, column) each."""

    def __init__(self, rows, columns, registers, place):
        self.rows, self.columns, self.registers = rows, columns, registers
        self.place = place

    def pack(self, matrix, bits, gap=None):
        """The registers of all lanes, lane by lane: elements of so many bits, `gap` bits from one to the next."""
        gap = gap or bits
        word = lambda lane, register: sum(
            matrix[row][column] << (gap * n) for n, (row, column) in enumerate(self.place(lane, register))
        )
        return [word(lane, register) for lane in range(LANES) for register in range(self.registers)]


def rows_of(matrix_rows, depth, count):
    """A multiplicand A: `count` elements in a register, rows g and g + 8, then the next columns (9.7.14.5.1 to .12)."""
    halves = matrix_rows // 8

    def place(lane, register):
        g, t = group(lane)
        first = 4 * count * (register // halves) + t * count
        return [(g + 8 * (register % halves), first + i) for i in range(count)]

    return Fragment(matrix_rows, depth, halves * depth // (4 * count), place)


def columns_of(depth, count):
    """A multiplicand B of eight columns: `count` neighbours of column g in a register."""

    def place(lane, register):
        g, t = group(lane)
        return [(4 * count * register + t * count + i, g) for i in range(count)]

    return Fragment(depth, 8, depth // (4 * count), place)


def sums_of(matrix_rows, count):
    """C and D of eight columns: `count` elements in a register, columns 2 t and 2 t + 1 of rows g, then of g + 8."""

    def place(lane, register):
        g, t = group(lane)
        first = register * count
        return [(g + 8 * ((first + i) // 2), 2 * t + (first + i) % 2) for i in range(count)]

    return Fragment(matrix_rows, 8, matrix_rows // 4 // count, place)
