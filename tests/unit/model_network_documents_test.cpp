// Documents of networks: numbers that nothing can have taken or given are refused by file, line and place.
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/network/network_run.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <utility>

using namespace convcast;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

/// Of one case.
NetworkRun run_of(const std::string &network) {
    NetworkRun run;
    run.network = network;
    run.cases.emplace_back();
    return run;
}

NetworkRun network_forecast() {
    NetworkRun run = run_of("alexnet");
    NetworkCase &whole = run.first();
    whole.forecast.emplace().time_s = Seconds(126e-6);
    whole.light_s = Seconds(60e-6);
    whole.convolutions_s = Seconds(126e-6), whole.dense_s = whole.others_s = Seconds(0.0);
    whole.nodes = 19;
    NetworkLaunch &launch = whole.launches.emplace_back();
    launch.operators = {"conv1"};
    launch.time_s = Seconds(5e-6);
    launch.share = 1.0;
    launch.begins_s = Seconds(0.0), launch.ends_s = Seconds(5e-6);
    launch.candidates = {{"winograd", Seconds(4e-6)}};
    whole.what_if = {{"twice the SMs", Seconds(100e-6)}};
    return run;
}

NetworkRun whole_run() {
    NetworkRun run = network_forecast();
    NetworkCase &whole = run.first();
    whole.status = Status::ok;
    whole.output_error = 1e-7;
    NetworkTimes &measured = whole.measured.emplace();
    measured.time_s = Seconds(119e-6), measured.low_s = Seconds(118e-6), measured.high_s = Seconds(120e-6);
    measured.samples = 15;
    const TimeSpread traced{Seconds(119e-6), Seconds(118e-6), Seconds(120e-6), 15};
    whole.traced = TracedTimes{traced, {}, {}};
    whole.launches[0].measured = LaunchMeasurement{traced, 1.0, Seconds(0.0), Seconds(5e-6)};
    return run;
}

NetworkRun ladder_run() {
    NetworkRun run = run_of("fashion_mnist");
    NetworkCase &rung = run.first();
    rung.id = "constant";
    rung.status = Status::ok;
    rung.measured.emplace().time_s = Seconds(1e-5);
    rung.output_error = 1e-7;
    rung.kernels = {{"conv_all", 1, Seconds(1e-6), Seconds(0.0), Seconds(1e-6)}};
    return run;
}

NetworkRun training_run() {
    NetworkRun run = run_of("mnist");
    NetworkCase &item = run.first();
    Training &its = item.training.emplace();
    its.images = 60000, its.test_images = 10000, its.checked = 1000;
    its.descent.rate = 0.1;
    its.reference_accuracy = 0.98;
    item.accuracy = 0.98, item.disagreements = 0;
    item.measured.emplace().time_s = Seconds(1e-5);
    return run;
}

NetworkRun scaling_run() {
    NetworkRun run = run_of("mnist");
    run.peers = {Bandwidth(385e9), Seconds(1e-6), Source::measured, "peer_copy"};
    NetworkCase &item = run.first();
    item.split = DeviceSplit::one;
    item.batch = 2048;
    item.shares = {2048};
    item.status = Status::ok;
    NetworkTimes &times = item.measured.emplace();
    times.forward_s = times.backward_s = Seconds(1e-5);
    times.time_s = times.computation_s = Seconds(2e-5);
    times.communication_s = Seconds(0.0);
    return run;
}

NetworkRun as_read(const NetworkRun &document) {
    return described::read_document<NetworkRun>(to_text(described::write(document)), "it.json");
}

/// As it is, the document is read; with the change of it or of its case it is refused, by file, place and
/// what was expected.
struct Refused {
    NetworkRun (*document)();
    void (*change)(NetworkRun &run, NetworkCase &its);
    const char *place, *expected;
};
constexpr const char *time_above_0 = "expected a number from 1e-12 to 1e+06",
                     *lacks = "expected what the forecast of the whole network says";
const Refused refused[] = {
    // A whole run took time for images.
    {whole_run, [](auto &, auto &its) { its.measured->time_s = Seconds(0.0); }, "cases/0/measured/time_s",
     time_above_0},
    {whole_run, [](auto &, auto &its) { its.measured->low_s = Seconds(1e-300); }, "cases/0/measured/low_s",
     time_above_0},
    {whole_run, [](auto &, auto &its) { its.measured->time_s = Seconds(1.0); }, "cases/0/measured/time_s",
     "expected from low_s to high_s"},
    {whole_run, [](auto &, auto &its) { its.measured->samples = 0; }, "cases/0/measured/samples",
     "expected an integer from 1"},
    {whole_run, [](auto &, auto &its) { its.traced->graph_s.median_s = Seconds(0.0); },
     "cases/0/traced/graph_s/median_s", time_above_0},
    {whole_run, [](auto &, auto &its) { its.traced->graph_s.p95_s = Seconds(1e-6); },
     "cases/0/traced/graph_s/p95_s", "expected at least median_s"},
    {whole_run, [](auto &, auto &its) { its.traced->graph_s.samples = 0; }, "cases/0/traced/graph_s/samples",
     "expected an integer from 1"},
    {whole_run, [](auto &, auto &its) { its.output_error = 1e9; }, "cases/0/output_error",
     "expected at most 0.001 of a result whose status"},
    {whole_run, [](auto &, auto &its) { its.output_error = std::numeric_limits<double>::quiet_NaN(); },
     "cases/0/output_error", "\"wrong_result\""},
    // A launch that ran took its share.
    {whole_run, [](auto &, auto &its) { its.launches[0].measured->share = 1.5; },
     "cases/0/launches/0/measured/share", "from 0 to 1"},
    {whole_run, [](auto &, auto &its) { its.launches[0].measured->time_s.median_s = Seconds(0.0); },
     "cases/0/launches/0/measured/time_s/median_s", "expected a number from 1e-12"},
    {whole_run, [](auto &, auto &its) { its.launches[0].measured->begins_s = Seconds(1.0); },
     "cases/0/launches/0/measured/ends_s", "expected at least begins_s"},
    // A whole network has its forecast, of times above zero.
    {network_forecast, [](auto &, auto &its) { its.forecast.reset(); }, "cases/0/forecast/time_s", lacks},
    {network_forecast, [](auto &, auto &its) { its.light_s.reset(); }, "cases/0/light_s", lacks},
    {network_forecast, [](auto &, auto &its) { its.dense_s.reset(); }, "cases/0/convolutions_s", lacks},
    {network_forecast, [](auto &, auto &its) { its.nodes.reset(); }, "cases/0/nodes", lacks},
    {network_forecast, [](auto &run, auto &) { run.cases.clear(); }, "cases", "expected at least one case"},
    {network_forecast, [](auto &, auto &its) { its.forecast->time_s = Seconds(0.0); },
     "cases/0/forecast/time_s", time_above_0},
    {network_forecast, [](auto &, auto &its) { its.light_s = Seconds(1e-300); }, "cases/0/light_s",
     time_above_0},
    {network_forecast, [](auto &, auto &its) { its.batch = 0; }, "cases/0/batch",
     "expected an integer from 1"},
    {network_forecast, [](auto &, auto &its) { its.launches[0].time_s = Seconds(0.0); },
     "cases/0/launches/0/time_s", time_above_0},
    {network_forecast, [](auto &, auto &its) { its.launches[0].candidates[0].time_s = Seconds(0.0); },
     "cases/0/launches/0/candidates/0/time_s", time_above_0},
    {network_forecast, [](auto &, auto &its) { its.launches[0].operators.clear(); },
     "cases/0/launches/0/operators", "expected the operators that the launch computes"},
    {network_forecast, [](auto &, auto &its) { its.what_if[0].time_s = Seconds(0.0); },
     "cases/0/what_if/0/time_s", time_above_0},
    {network_forecast,
     [](auto &, auto &its) { its.forecast->low_s = Seconds(2.0), its.forecast->high_s = Seconds(1.0); },
     "cases/0/forecast/low_s", "expected at most high_s"},
    {network_forecast, [](auto &, auto &its) { its.launches[0].share = 1.5; }, "cases/0/launches/0/share",
     "from 0 to 1"},
    {network_forecast, [](auto &, auto &its) { its.launches[0].stream = 16; }, "cases/0/launches/0/stream",
     "from 0 to 15"},
    {network_forecast, [](auto &, auto &its) { its.launches[0].begins_s = Seconds(1.0); },
     "cases/0/launches/0/ends_s", "expected at least begins_s"},
    {network_forecast, [](auto &, auto &its) { its.launches[0].l2_error = -1.0; },
     "cases/0/launches/0/l2_error", "expected"},
    // A ladder is of a network that has one.
    {ladder_run, [](auto &run, auto &) { run.network = "fashion_mnits"; }, "network",
     "one of fashion_mnist, mnist, got \"fashion_mnits\"; did you mean 'fashion_mnist'?"},
    {ladder_run, [](auto &, auto &its) { its.batch = 0; }, "cases/0/batch", "expected an integer from 1"},
    {ladder_run, [](auto &run, auto &) { run.sequential_s = Seconds(0.0); }, "sequential_s", time_above_0},
    {ladder_run, [](auto &, auto &its) { its.measured->time_s = Seconds(0.0); }, "cases/0/measured/time_s",
     time_above_0},
    {ladder_run, [](auto &, auto &its) { its.output_error = 1e9; }, "cases/0/output_error",
     "expected at most 0.001"},
    {ladder_run, [](auto &, auto &its) { its.kernels[0].launches = 0; }, "cases/0/kernels/0/launches",
     "expected an integer from 1"},
    {ladder_run, [](auto &, auto &its) { its.kernels[0].bytes = 0; }, "cases/0/kernels/0/bytes",
     "expected an integer from 1"},
    {ladder_run, [](auto &, auto &its) { its.kernels[0].occupancy = 50.0; }, "cases/0/kernels/0/occupancy",
     "expected a number from 0 to 1"},
    {ladder_run, [](auto &, auto &its) { its.kernels[0].device = -1; }, "cases/0/kernels/0/device",
     "from 0 to 1023"},
    {ladder_run, [](auto &run, auto &) { run.cases.push_back(run.cases[0]); }, "cases/1/id",
     "expected each implementation once"},
    // A training is of images.
    {training_run, [](auto &run, auto &) { run.network = "mnits"; }, "network", "did you mean 'mnist'?"},
    {training_run, [](auto &, auto &its) { its.accuracy = 98.0; }, "cases/0/accuracy",
     "expected a number from 0 to 1"},
    {training_run, [](auto &, auto &its) { its.training->images = 0; }, "cases/0/training/images",
     "expected an integer from 1"},
    {training_run, [](auto &, auto &its) { its.measured->time_s = Seconds(0.0); }, "cases/0/measured/time_s",
     "expected a number from 1e-12"},
    {training_run, [](auto &, auto &its) { its.disagreements = 1001; }, "cases/0/disagreements",
     "expected at most training/checked"},
    // A scaling is of steps that took time.
    {scaling_run, [](auto &run, auto &) { run.network = "mnits"; }, "network", "did you mean 'mnist'?"},
    {scaling_run, [](auto &, auto &its) { its.batch = 0; }, "cases/0/batch", "expected an integer from 1"},
    {scaling_run, [](auto &, auto &its) { its.devices = 4097; }, "cases/0/devices", "from 1 to 4096"},
    {scaling_run, [](auto &, auto &its) { its.split = DeviceSplit::batch, its.devices = 9; },
     "cases/0/devices", "at most 8, or the split batch_nccl"},
    {scaling_run, [](auto &, auto &its) { its.measured->time_s = Seconds(0.0); }, "cases/0/measured/time_s",
     "expected a number from 1e-12"},
    {scaling_run, [](auto &, auto &its) { its.shares.clear(); }, "cases/0/shares",
     "expected [2048], what each GPU has of this step"},
    {scaling_run, [](auto &, auto &its) { its.output_error = 1e9; }, "cases/0/output_error",
     "expected at most 0.001"},
    {scaling_run, [](auto &run, auto &) { run.peers->bandwidth_bytes_per_s = Bandwidth(0.0); },
     "peers/bandwidth_bytes_per_s", "expected a number from 1"},
};

TEST(NetworkDocuments, ANumberThatNothingCanHaveTakenOrGivenIsRefused) {
    for (const auto &[document, change, place, expected] : refused) {
        NetworkRun run = document();
        EXPECT_NO_THROW(as_read(run));
        change(run, run.first());
        EXPECT_THAT([&] { as_read(run); },
                    ThrowsMessage<InputError>(AllOf(HasSubstr("it.json:"),
                                                    HasSubstr(std::string(": /") + place + ": "),
                                                    HasSubstr(expected))));
    }
}

TEST(NetworkDocuments, AWrongResultIsReadHoweverFarItIsOff) {
    for (const double error : {1e9, std::numeric_limits<double>::infinity()}) {
        NetworkRun run = whole_run();
        run.first().status = Status::wrong_result;
        run.first().output_error = error;
        EXPECT_NO_THROW(as_read(run));
    }
}

TEST(NetworkDocuments, EarlierOnesAreRefusedWithTheVerbThatRenewsThem) {
    for (const auto &[schema, verb] :
         {std::pair{"convcast/network_forecast/1", "`convcast predict --network`"},
          {"convcast/network_run/1", "`convcast run --network`"},
          {"convcast/ladder_run/1", "`convcast run --network`"},
          {"convcast/scaling/1", "`convcast run --network`"},
          {"convcast/training/1", "`convcast run --network`"}}) {
        NetworkRun run = whole_run();
        run.schema = schema;
        EXPECT_THAT([&] { as_read(run); },
                    ThrowsMessage<InputError>(HasSubstr("another version of convcast wrote it; " +
                                                        std::string(verb) + " writes it anew")));
    }
}

} // namespace
