// Every operation of a cooperative group, for any group: what each thread gets goes to its column of `out`, a row an operation.
// model.py has the same operations in the same order.
#pragma once
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

constexpr int THREADS = 128;

// What all threads read and write.
struct Launch {
    const unsigned *words;              // a random word a thread
    const unsigned long long *longs;    // a random 64-bit number a thread
    void *out;
    unsigned *counts;                   // a counter a thread
};

// Rows of results of one type, filled from the top.
template <class T> struct Rows {
    T *out;
    int row;
    __device__ void put(T value) { out[row++ * THREADS + threadIdx.x] = value; }
};

template <class G> struct has_votes { static constexpr bool value = true; };
template <class G> struct has_xor { static constexpr bool value = false; };
template <unsigned N, class P> struct has_votes<cg::thread_block_tile<N, P>> { static constexpr bool value = N <= 32; };
template <unsigned N, class P> struct has_xor<cg::thread_block_tile<N, P>> { static constexpr bool value = N <= 32; };
template <bool> struct Choice {};

// Ballots and matches, which groups of several warps do not have.
template <class G> __device__ void ballots(Choice<true>, const G &group, unsigned word, Rows<unsigned> &rows) {
    rows.put(group.ballot(word & 64));
    rows.put(group.match_any(word >> 3 & 3));
    int same = 0;
    rows.put(group.match_all(int((word & 15) == 0), same));
    rows.put(same);
    rows.put(group.shfl_up(word, 1));
    rows.put(group.shfl_up(word, 3));
    rows.put(group.shfl_down(word, 1));
    rows.put(group.shfl_down(word, 5));
}
template <class G> __device__ void ballots(Choice<false>, const G &, unsigned, Rows<unsigned> &) {}

template <class G> __device__ void exchanges(Choice<true>, const G &group, unsigned word, unsigned long long wide, Rows<unsigned> &rows) {
    const unsigned last = group.num_threads() - 1;
    rows.put(group.shfl_xor(word, last));
    rows.put(group.shfl_xor(word, last >> 1));
    rows.put(group.shfl_xor(wide, last & 21) >> 32);
}
template <class G> __device__ void exchanges(Choice<false>, const G &, unsigned, unsigned long long, Rows<unsigned> &) {}

// A word of another thread, and who comes behind this one. All threads of a group of several warps have to ask for the same thread's.
template <class G> __device__ unsigned neighbour(Choice<true>, const G &group, unsigned word, Rows<unsigned> &rows) {
    rows.put(group.shfl(word, word % group.num_threads()));
    return group.shfl(threadIdx.x, (group.thread_rank() + 1) % group.num_threads());
}
template <class G> __device__ unsigned neighbour(Choice<false>, const G &group, unsigned word, Rows<unsigned> &rows) {
    rows.put(group.shfl(word, 37));
    return threadIdx.x - group.thread_rank() + (group.thread_rank() + 1) % group.num_threads();
}

// What needs no arithmetic: `sync`, votes, shuffles, `invoke_one`.
struct Votes {
    using Result = unsigned;
    template <class G> static __device__ void run(const G &group, Launch launch, Rows<unsigned> &rows) {
        __shared__ unsigned board[THREADS];
        const unsigned me = threadIdx.x, word = launch.words[me], count = group.num_threads(), rank = group.thread_rank();
        rows.put(count);
        rows.put(rank);
        rows.put(group.any((word & 15) == 0));
        rows.put(group.all((word & 15) != 1));
        const unsigned next = neighbour(Choice<has_votes<G>::value>(), group, word, rows);
        rows.put(group.shfl(launch.longs[me], count - 1) >> 32);
        board[me] = word;
        group.sync();
        rows.put(board[next]);
        group.sync();
        // Which thread does it is nobody's business: one of the group, once.
        const unsigned first = group.shfl(me, 0);
        cg::invoke_one(group, [&] { atomicAdd(launch.counts + first, 1u); });
        group.sync();
        rows.put(*static_cast<volatile unsigned *>(launch.counts + first));
        group.sync();
        const unsigned chosen = cg::invoke_one_broadcast(group, [&] { return me; });
        rows.put(group.any(chosen == me) * 2 + group.all(chosen == group.shfl(chosen, 0)));
        ballots(Choice<has_votes<G>::value>(), group, word, rows);
        exchanges(Choice<has_xor<G>::value>(), group, word, launch.longs[me], rows);
    }
};

template <class T> struct Value { static __device__ T of(Launch launch) { return T(launch.words[threadIdx.x]); } };
template <> struct Value<long long> { static __device__ long long of(Launch launch) { return launch.longs[threadIdx.x]; } };
// Whole numbers: their sums are exact in any order.
template <> struct Value<float> { static __device__ float of(Launch launch) { return int(launch.words[threadIdx.x] >> 8 & 2047) - 1000; } };
template <> struct Value<double> { static __device__ double of(Launch launch) { return int(launch.words[threadIdx.x] >> 4 & 2047) - 1000; } };

template <class G, class T, template <class> class Op> __device__ void sums(const G &group, T value, Rows<T> &rows) {
    rows.put(cg::reduce(group, value, Op<T>()));
    rows.put(cg::inclusive_scan(group, value, Op<T>()));
    const T before = cg::exclusive_scan(group, value, Op<T>());
    rows.put(group.thread_rank() == 0 ? T(0) : before);
}

template <class G, class T> __device__ void bits(Choice<true>, const G &group, T value, Rows<T> &rows) {
    sums<G, T, cg::bit_and>(group, value, rows);
    sums<G, T, cg::bit_or>(group, value, rows);
    sums<G, T, cg::bit_xor>(group, value, rows);
}
template <class G, class T> __device__ void bits(Choice<false>, const G &, T, Rows<T> &) {}

// Reductions and scans of one type.
template <class T> struct Sums {
    using Result = T;
    template <class G> static __device__ void run(const G &group, Launch launch, Rows<T> &rows) {
        const T value = Value<T>::of(launch);
        sums<G, T, cg::plus>(group, value, rows);
        sums<G, T, cg::less>(group, value, rows);
        sums<G, T, cg::greater>(group, value, rows);
        bits(Choice<(T(0.5) == T(0))>(), group, value, rows);
    }
};

// A kernel for each set of operations, for the groups that GROUPS makes: `run(set)` runs a set on a group.
#define KERNEL(NAME, SET, ...)                                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        NAME(const unsigned *words, const unsigned long long *longs, void *out, unsigned *counts) {                    \
        const Launch launch{words, longs, out, counts};                                                                \
        Rows<SET::Result> rows{static_cast<SET::Result *>(out), 0};                                                    \
        const unsigned word = words[threadIdx.x];                                                                      \
        auto run = [&](const auto &group) { SET::run(group, launch, rows); };                                          \
        __VA_ARGS__                                                                                                    \
    }
#define GROUPS(...)                                                                                                    \
    KERNEL(votes, Votes, __VA_ARGS__)                                                                                  \
    KERNEL(sums_int, Sums<int>, __VA_ARGS__)                                                                           \
    KERNEL(sums_unsigned, Sums<unsigned>, __VA_ARGS__)                                                                 \
    KERNEL(sums_long, Sums<long long>, __VA_ARGS__)                                                                    \
    KERNEL(sums_float, Sums<float>, __VA_ARGS__)                                                                       \
    KERNEL(sums_double, Sums<double>, __VA_ARGS__)
