// The groups, one kind a compilation: -D KIND=… (kinds.py lists them, with the threads that each group has).
#include "groups.cuh"

#define TILE(N) run(cg::tiled_partition<N>(cg::this_thread_block()));
// Tiles of several warps exchange through shared memory.
#define WIDE_TILE(N)                                                                                                   \
    __shared__ cg::block_tile_memory<THREADS> memory;                                                                  \
    run(cg::tiled_partition<N>(cg::this_thread_block(memory)));
#define WARP cg::tiled_partition<32>(cg::this_thread_block())

#define KIND_tile_1 TILE(1)
#define KIND_tile_2 TILE(2)
#define KIND_tile_4 TILE(4)
#define KIND_tile_8 TILE(8)
#define KIND_tile_16 TILE(16)
#define KIND_tile_32 TILE(32)
#define KIND_tile_64 WIDE_TILE(64)
#define KIND_tile_128 WIDE_TILE(128)
// Tiles of tiles.
#define KIND_tile_4_of_16 run(cg::tiled_partition<4>(cg::tiled_partition<16>(cg::this_thread_block())));
// Two tiles of three go one way, the third another way: each does the same there.
#define KIND_tile_8_apart                                                                                              \
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());                                                       \
    if (threadIdx.x / 8 % 3 == 0) run(tile); else { rows.row += 1; run(tile); }
#define KIND_labels run(cg::labeled_partition(WARP, word >> 9 & 3));
#define KIND_many_labels run(cg::labeled_partition(WARP, word >> 9 & 15));
#define KIND_labels_of_tile_16 run(cg::labeled_partition(cg::tiled_partition<16>(cg::this_thread_block()), word >> 9 & 1));
#define KIND_labels_of_coalesced if (word >> 20 & 7) run(cg::labeled_partition(cg::coalesced_threads(), word >> 9 & 3));
#define KIND_parts run(cg::binary_partition(WARP, word >> 11 & 1));
#define KIND_parts_of_coalesced if (word >> 20 & 7) run(cg::binary_partition(cg::coalesced_threads(), word >> 11 & 1));
#define KIND_coalesced run(cg::coalesced_threads());
#define KIND_branch if (word >> 12 & 1) run(cg::coalesced_threads());
#define KIND_branches                                                                                                  \
    if (word >> 12 & 1) run(cg::coalesced_threads()); else { rows.row += 1; run(cg::coalesced_threads()); }
#define KIND_nested                                                                                                    \
    if (word >> 12 & 3) { if (word >> 14 & 1) run(cg::coalesced_threads()); else { rows.row += 1; run(cg::coalesced_threads()); } }
// Threads leave the loop after 0 to 3 rounds.
#define KIND_loop for (unsigned round = 0; round < (word >> 12 & 3); round++) { rows.row = round * 30; run(cg::coalesced_threads()); }
#define KIND_some_gone if (word >> 12 & 1) return; run(cg::coalesced_threads());
#define KIND_coalesced_by_4 if (word >> 12 & 3) run(cg::tiled_partition(cg::coalesced_threads(), 4));

#define PASTE(A, B) A##B
#define OF(KIND) PASTE(KIND_, KIND)
GROUPS(OF(KIND))
