// What kernels take to start, streams and GPUs to meet, and copies from and to the host and other GPUs.
#include "microbench/derived.hpp"
#include "microbench/probes/rows.hpp"

#include <vector>

namespace convcast {

std::vector<Probe> first_probes() {
    return {Probe(
        "early_launch_period", "How often can a graph run kernels that start early and wait for each other?",
        "empty.cu", "s",
        "chain of 256 kernels in a graph minus one of 64, each started early and waiting for the end of "
        "the one before, by events",
        {.fields = {{"early_launch_period", Better::lowest}}},
        {.least_capability = 90, .needs = "launches that start early"})};
}

std::vector<Probe> launch_probes() {
    const ProbeCurve by_streams{CurveAxis("streams", "1", true),
                                CurveAxis("time of a kernel on each and a meeting", "s", true),
                                Better::lowest,
                                {"streams"}};
    return {
        Probe("launch_floor", "How long does an empty kernel take?", "empty.cu", "s",
              "end minus start of the activity record of an empty kernel",
              {.fields = {{"launch_floor", Better::lowest}}}),
        Probe("smallest_copy", "How long does a kernel take that loads a number and stores it?",
              "smallest_copy.cu", "s",
              "end minus start of the activity record, a CTA on each SM, a number a thread, warm L2",
              {.fields = {{"smallest_copy_time", Better::lowest}}}),
        Probe("launch_gap", "How long after one kernel does the next of a stream start?", "empty.cu", "s",
              "start of an empty kernel minus end of the one before it, all queued ahead",
              {.fields = {{"launch_gap", Better::lowest}}}),
        Probe("launch_period", "How often can kernels be launched, from a stream and from a graph?",
              "empty.cu", "s", "256 empty kernels of a stream minus 64, all queued ahead, by events",
              {.fields = {{"stream_launch_period", Better::lowest, {{"graph", 0.0}}},
                          {"graph_launch_period", Better::lowest, {{"graph", 1.0}}}}}),
        Probe("launch_by_grid", "How long does an empty kernel of so many CTAs take?", "empty.cu", "s",
              "end minus start of an empty kernel",
              {.fields = {{"cta_launch_time"}},
               .curve = ProbeCurve(CurveAxis("CTAs", "1", true),
                                   CurveAxis("time of an empty kernel", "s", true), Better::lowest, {"ctas"}),
               .derive = derive_cta_launch_time}),
        Probe("graph_meets", "How often can streams of a graph start a kernel each and wait for each other?",
              "empty.cu", "s",
              "10 rounds of a graph minus 2, each an empty kernel a stream and a meeting of all, by events",
              {.curve = by_streams}),
        Probe("stream_meets", "How often can streams that the host launches on?", "empty.cu", "s",
              "10 rounds minus 2, each an empty kernel a stream and a meeting of all, queued ahead, by "
              "events",
              {.curve = by_streams}),
        Probe("shared_capacity", "How much shared memory can CTAs get?", "shared_capacity.cu", "B",
              "most dynamic shared memory with which a CTA starts and keeps what it writes",
              {.fields = {{"shared_per_sm_seen_bytes", Better::highest, {{"kind", 2.0}}},
                          {"shared_per_cta_seen_bytes", Better::highest, {{"kind", 1.0}}}}}),
        Probe("host_copy", "How fast are copies from and to the host?", "", "B/s", "",
              {.fields = {{"host_to_device_bandwidth", Better::highest, {{"direction", 1.0}}},
                          {"device_to_host_bandwidth", Better::highest, {{"direction", 2.0}}},
                          {"host_both_ways_bandwidth", Better::highest, {{"direction", 3.0}}}},
               .curve = ProbeCurve(CurveAxis("bytes of a copy", "B", true), bandwidth_axis, Better::highest,
                                   {"bytes"}, "direction", "direction {}")}),
        Probe("host_copy_sizes", "How long does a copy of so many bytes from or to the host take?",
              "empty.cu", "s", "64 copies one after another, queued ahead, by events, over 64",
              {.curve =
                   ProbeCurve(CurveAxis("bytes of a copy", "B", true), CurveAxis("time of a copy", "s", true),
                              Better::lowest, {"bytes"}, "direction", "direction {}")}),
        Probe("peer_copy", "How fast are copies between each two GPUs?", "chase.cu", "B/s", "",
              {.fields = {{"peers"}}}),
        // A host of two GPUs has one point of what GPUs do together.
        Probe("peer_meets", "How often can GPUs send each other a little and wait for each other?",
              "empty.cu", "s",
              "10 rounds of a graph over the GPUs minus 2, each an empty kernel on every GPU and 4 KiB "
              "from each to each other, by events",
              {.curve = ProbeCurve(CurveAxis("GPUs", "1", false),
                                   CurveAxis("time of a kernel on each and an exchange", "s", false),
                                   Better::lowest, {"gpus"}, {}, "", 1)}),
        Probe("peer_all_pairs", "How fast are copies when every GPU copies to every other?", "", "B/s",
              "every GPU to every other at once, a stream each, bytes of all",
              {.fields = {{"peer_all_pairs_bandwidth", Better::highest}}}),
    };
}

} // namespace convcast
