#include "microbench/runners.hpp"

namespace convcast {

const std::vector<ProbeSource> probe_files = {
    {"fill.cu", {}},
    {"ffma.cu", {"ffma<2>", "ffma<3>"}},
    {"ffma_latency.cu", {}},
    {"ffma_ilp.cu", {"ffma_ilp<1>", "ffma_ilp<2>", "ffma_ilp<4>", "ffma_ilp<8>"}},
    {"ffma_outer.cu",
     {"ffma_outer<2, 2, 0>", "ffma_outer<2, 2, 1>", "ffma_outer<4, 2, 0>", "ffma_outer<4, 2, 1>",
      "ffma_outer<4, 4, 0>", "ffma_outer<4, 4, 1>", "ffma_outer<8, 4, 0>", "ffma_outer<8, 4, 1>",
      "ffma_outer<8, 8, 0>", "ffma_outer<8, 8, 1>", "ffma_outer<16, 8, 0>", "ffma_outer<16, 8, 1>"}},
    {"ffma_shared.cu",
     {"ffma_shared<32, 0>", "ffma_shared<0, 1>", "ffma_shared<0, 2>", "ffma_shared<0, 4>",
      "ffma_shared<0, 8>", "ffma_shared<0, 16>", "ffma_shared<0, 32>", "ffma_shared<32, 1>",
      "ffma_shared<32, 2>", "ffma_shared<32, 4>", "ffma_shared<32, 8>", "ffma_shared<32, 16>",
      "ffma_shared<32, 32>"}},
    {"half.cu", {}},
    {"int8.cu", {}},
    {"chase.cu", {}},
    {"dram_read.cu", {"dram_read<1>", "dram_read<2>", "dram_read<4>", "dram_read<8>"}},
    {"dram_write.cu", {}},
    {"l2_read.cu", {}},
    {"shared.cu", {"shared_read<1>", "shared_read<4>"}},
    {"barrier.cu", {"barrier<1>", "barrier<2>"}},
    {"empty.cu", {}},
};

} // namespace convcast
