// A Run like a real one, made of round rules instead of measurements: every shape of the shipped studies, two
// settings of each strategy, cuDNN's algorithms with the ones it refuses, and one case of every status.
#pragma once

#include "model/record/run.hpp"
#include "model/record/study.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/time/formula.hpp"

#include <algorithm>
#include <cmath>

namespace convcast::sample {

/// Repeatable noise around 1, without a library's random numbers, which differ between libraries.
class Noise {
  public:
    double operator()(double amplitude) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        const double uniform = static_cast<double>(state_ >> 40) / static_cast<double>(1ULL << 24);
        return 1.0 + amplitude * (2.0 * uniform - 1.0);
    }

  private:
    std::uint64_t state_ = 42;
};

inline Measurement measurement(double time, L2State l2, Noise &noise) {
    Measurement m;
    m.time_s = Seconds(time);
    for (int i = 0; i < 20; ++i)
        m.samples_s.push_back(Seconds(time * noise(0.01)));
    m.l2 = l2;
    m.sm_clock_hz = Frequency(1.98e9);
    m.throttled_samples = 0;
    m.method = "activity";
    m.stop_reason = "precision";
    m.kernels = 1;
    return m;
}

inline Case strategy_case(const std::string &study, const ConvShape &shape, const std::string &strategy,
                          double slowdown, Noise &noise) {
    Case c;
    c.study = study;
    c.shape = shape.id();
    c.strategy = strategy;
    c.status = Status::ok;
    const double compute = shape.fmas().value / 30e12 * slowdown, dram = shape.bytes().value / 4.2e12;
    Prediction p;
    using namespace formula;
    Term term =
        sum("forecast",
            {leaf("launch", Seconds(2.3e-6), "launch floor of the profile"),
             pipeline("rounds", 16.0, leaf("DRAM latency", Seconds(0.4e-6), "811 clk / 1980 MHz"),
                      pnorm("one round", 4.0,
                            {leaf("FMA", Seconds(compute / 16.0), "65536 fma / 128 fma/clk / 1980 MHz"),
                             leaf("DRAM", Seconds(dram / 16.0), "bytes / 4200 GB/s"),
                             leaf("shared memory", Seconds(compute / 25.0), "512 wavefronts * 128 B")}),
                      leaf("store", Seconds(dram / 8.0), "output bytes / 3900 GB/s"))});
    p.time_s = p.times.tier2_s = evaluate(term);
    p.times.tier0_s = Seconds(2.3e-6 + std::max(compute / slowdown, dram));
    p.limiter = limiter(term);
    p.term = std::move(term);
    const Regime regime = compute > dram ? Regime::compute_hidden : Regime::exposed;
    p.regimes = Regimes{regime, regime, Regime::bulk_hidden, std::nullopt};
    Work work;
    work.fmas = shape.fmas().value * 1.1;
    work.l2_read_bytes = static_cast<double>(shape.input_bytes() * 4 + shape.filter_bytes() * 8);
    work.l2_write_bytes = work.dram_write_bytes = static_cast<double>(shape.output_bytes());
    work.dram_read_bytes = static_cast<double>(shape.input_bytes() + shape.filter_bytes());
    p.work = work;
    Rules rules;
    rules.n_fma = 207616;
    rules.v_s_bytes = 1708032;
    rules.segment_bytes = 64;
    rules.tile_w = 128;
    rules.remarks = {"no P in range: lower bound 12 > upper bound 3"};
    p.rules = rules;
    p.assumptions = {"knee exponent 2 assumed: the profile has none"};
    const double time = p.time_s->value * 1.04 * noise(0.12);
    c.prediction = std::move(p);
    for (const L2State l2 : {L2State::cold, L2State::warm}) {
        Measurement m = measurement(l2 == L2State::cold ? time : time * 0.86, l2, noise);
        m.regime = noise(1.0) > 0.4 ? regime : Regime::bulk_hidden;
        m.relative_l2_error = 2.1e-7;
        Work counted = work;
        counted.l2_read_bytes = *work.l2_read_bytes * noise(0.15);
        counted.dram_read_bytes = *work.dram_read_bytes * 1.08 * noise(0.1);
        counted.dram_write_bytes = *work.dram_write_bytes * 0.4 * noise(0.3);
        m.work = counted;
        c.measurements.push_back(std::move(m));
    }
    return c;
}

inline Case baseline_case(const std::string &study, const ConvShape &shape, const std::string &algorithm,
                          double factor, Noise &noise) {
    Case c;
    c.study = study;
    c.shape = shape.id();
    c.baseline = "cudnn:" + algorithm;
    const bool winograd = algorithm.starts_with("winograd");
    if ((winograd && shape.r != 3) || (algorithm.starts_with("fft") && shape.r == 1)) {
        c.status = Status::unsupported;
        c.reason = "CUDNN_STATUS_NOT_SUPPORTED";
        return c;
    }
    c.status = Status::ok;
    const double floor = shape.c == 1 ? 9e-6 : 4.5e-6;
    const double time =
        floor + factor * std::max(shape.fmas().value / 24e12, shape.bytes().value / 3.2e12) * noise(0.2);
    c.measurements = {measurement(time, L2State::cold, noise), measurement(time * 0.9, L2State::warm, noise)};
    c.measurements[0].relative_l2_error = winograd ? 4e-6 : 3e-7;
    return c;
}

inline Run run(const std::vector<Study> &studies) {
    Run run;
    run.producer = {"0.1.0", "d3adbeef0000000000000000d3adbeef", "cafe0000000000000000000000000000"};
    run.profile_id = "h200";
    run.profile_hash = "00112233445566778899aabbccddeeff";
    run.conditions = {{"gpu", "NVIDIA H200"},
                      {"driver", "580.95"},
                      {"cuda", "13.0"},
                      {"cudnn", "9.19.0"},
                      {"date", "2026-11-21"}};
    Noise noise;
    for (const Study &study : studies)
        for (const std::string &text : study.shapes) {
            const ConvShape shape = ConvShape::parse(text);
            if (shape.c == 1) {
                run.cases.push_back(strategy_case(study.id, shape, "filter_split:threads=512", 1.5, noise));
                run.cases.push_back(strategy_case(study.id, shape, "map_split:threads=512", 1.9, noise));
                run.cases.push_back(
                    strategy_case(study.id, shape, "row_register:tile_h=8,tile_w=256", 1.2, noise));
            } else {
                for (const char *knobs :
                     {"segment_bytes=32,tile_k=64,tile_w=128", "segment_bytes=64,tile_k=64,tile_w=128"})
                    run.cases.push_back(strategy_case(study.id, shape,
                                                      std::string("stride_fixed_block:") + knobs,
                                                      knobs[14] == '3' ? 1.5 : 1.3, noise));
            }
            for (const auto &[algorithm, factor] : {std::pair{"implicit_gemm", 1.9},
                                                    {"implicit_precomp_gemm", 1.25},
                                                    {"gemm", 2.4},
                                                    {"fft", 2.9},
                                                    {"fft_tiling", 2.2},
                                                    {"winograd", 0.8},
                                                    {"winograd_nonfused", 1.1}})
                run.cases.push_back(baseline_case(study.id, shape, algorithm, factor, noise));
        }
    // What goes wrong in a real sweep.
    const auto spoil = [&](std::size_t i, Status status, const std::string &reason) {
        run.cases[i].status = status;
        run.cases[i].reason = reason;
        run.cases[i].measurements.clear();
    };
    if (run.cases.size() > 60) {
        spoil(1, Status::infeasible, "no Q fits: 33024 bytes of shared memory for one filter row, 0 left");
        spoil(10, Status::failed, "CUDA error 719 (launch failure)");
        run.cases[20].status = Status::wrong_result;
        run.cases[20].reason = "relative L2 error 0.3 > 1e-5";
        spoil(30, Status::not_run, "device lost before this case");
        run.cases[40].prediction->time_s.reset();
        run.cases[40].prediction->term.reset();
        run.cases[40].prediction->reason = "the profile lacks dram_latency";
        for (Measurement &m : run.cases[50].measurements)
            m.time_s = m.time_s * 0.4;
    }
    return run;
}

/// The same with nothing measured, as `predict` writes it.
inline Run predictions(const std::vector<Study> &studies) {
    Run out = run(studies);
    std::erase_if(out.cases, [](const Case &c) { return c.baseline.has_value(); });
    for (Case &c : out.cases) {
        c.measurements.clear();
        c.status = Status::not_run;
        c.reason = "predicted only";
    }
    return out;
}

} // namespace convcast::sample
