#include "microbench/runners.hpp"

namespace convcast {

const std::vector<ProbeSource> probe_files = {
    {"fill.cu", {}},
    {"ffma.cu", {"ffma<2>", "ffma<3>"}},
    {"chase.cu", {"chase<false>", "chase<true>"}},
    {"chase_shared.cu", {}},
    {"chase_constant.cu", {"&ring"}},
    {"dram_read.cu", {"dram_read<1>", "dram_read<2>", "dram_read<4>", "dram_read<8>"}},
    {"dram_write.cu", {}},
    {"l2_read.cu", {}},
    {"shared.cu", {"shared_read<1>", "shared_read<4>"}},
    {"barrier.cu", {"barrier<1>", "barrier<2>"}},
    {"atomic_rate.cu", {}},
    {"grid_sync.cu", {}},
    {"empty.cu", {}},
    {"shared_capacity.cu", {}},
};

} // namespace convcast
