// Documents of networks: numbers that nothing can have taken or given are refused by file, line and place.
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/network/network_run.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>

using namespace convcast;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

NetworkRun network_forecast() {
    NetworkRun run;
    run.network = "alexnet";
    NetworkCase &whole = run.cases.emplace_back();
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
    NetworkRun run;
    run.network = "fashion_mnist";
    NetworkCase &rung = run.cases.emplace_back();
    rung.id = "constant";
    rung.status = Status::ok;
    rung.measured.emplace().time_s = Seconds(1e-5);
    rung.output_error = 1e-7;
    rung.kernels = {{"conv_all", 1, Seconds(1e-6), Seconds(0.0), Seconds(1e-6)}};
    return run;
}

NetworkRun training_run() {
    NetworkRun run;
    run.network = "mnist";
    NetworkCase &item = run.cases.emplace_back();
    Training &its = item.training.emplace();
    its.images = 60000, its.test_images = 10000, its.checked = 1000;
    its.descent.rate = 0.1;
    its.reference_accuracy = 0.98;
    item.accuracy = 0.98, item.disagreements = 0;
    item.measured.emplace().time_s = Seconds(1e-5);
    return run;
}

NetworkRun scaling_run() {
    NetworkRun run;
    run.network = "mnist";
    run.peers = {Bandwidth(385e9), Seconds(1e-6), Source::measured, "peer_copy"};
    NetworkCase &item = run.cases.emplace_back();
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

/// As it is, the document is read; with the change it is refused, by file, place and what was expected.
void refuses(NetworkRun document, const std::function<void(NetworkRun &)> &change, const std::string &place,
             const std::string &expected) {
    const auto read = [](const NetworkRun &from) {
        (void)described::read_document<NetworkRun>(to_text(described::write(from)), "it.json");
    };
    EXPECT_NO_THROW(read(document));
    change(document);
    EXPECT_THAT([&] { read(document); },
                ThrowsMessage<InputError>(
                    AllOf(HasSubstr("it.json:"), HasSubstr(": /" + place + ": "), HasSubstr(expected))));
}

TEST(NetworkDocuments, AWholeRunTookTimeForImages) {
    const auto says = [](const std::function<void(NetworkCase &)> &change, const std::string &place,
                         const std::string &expected) {
        refuses(
            whole_run(), [&](NetworkRun &run) { change(run.first()); }, "cases/0/" + place, expected);
    };
    const std::string time = "expected a number from 1e-12 to 1e+06";
    says([](NetworkCase &its) { its.measured->time_s = Seconds(0.0); }, "measured/time_s", time);
    says([](NetworkCase &its) { its.measured->low_s = Seconds(1e-300); }, "measured/low_s", time);
    says([](NetworkCase &its) { its.measured->time_s = Seconds(1.0); }, "measured/time_s",
         "expected from low_s to high_s");
    says([](NetworkCase &its) { its.measured->samples = 0; }, "measured/samples",
         "expected an integer from 1");
    says([](NetworkCase &its) { its.traced->graph_s.median_s = Seconds(0.0); }, "traced/graph_s/median_s",
         time);
    says([](NetworkCase &its) { its.traced->graph_s.p95_s = Seconds(1e-6); }, "traced/graph_s/p95_s",
         "expected at least median_s");
    says([](NetworkCase &its) { its.traced->graph_s.samples = 0; }, "traced/graph_s/samples",
         "expected an integer from 1");
    says([](NetworkCase &its) { its.output_error = 1e9; }, "output_error",
         "expected at most 0.001 of a result whose status");
    says([](NetworkCase &its) { its.output_error = std::numeric_limits<double>::quiet_NaN(); },
         "output_error", "\"wrong_result\"");
}

TEST(NetworkDocuments, ALaunchThatRanTookItsShare) {
    const auto says = [](const std::function<void(LaunchMeasurement &)> &change, const std::string &place,
                         const std::string &expected) {
        refuses(
            whole_run(), [&](NetworkRun &run) { change(*run.first().launches[0].measured); },
            "cases/0/launches/0/measured/" + place, expected);
    };
    says([](LaunchMeasurement &its) { its.share = 1.5; }, "share", "from 0 to 1");
    says([](LaunchMeasurement &its) { its.time_s.median_s = Seconds(0.0); }, "time_s/median_s",
         "expected a number from 1e-12");
    says([](LaunchMeasurement &its) { its.begins_s = Seconds(1.0); }, "ends_s", "expected at least begins_s");
}

TEST(NetworkDocuments, AWholeNetworkHasItsForecast) {
    const auto lacks = [](const std::function<void(NetworkCase &)> &change, const std::string &place) {
        refuses(
            network_forecast(), [&](NetworkRun &run) { change(run.first()); }, "cases/0/" + place,
            "expected what the forecast of the whole network says");
    };
    lacks([](NetworkCase &its) { its.forecast.reset(); }, "forecast/time_s");
    lacks([](NetworkCase &its) { its.light_s.reset(); }, "light_s");
    lacks([](NetworkCase &its) { its.dense_s.reset(); }, "convolutions_s");
    lacks([](NetworkCase &its) { its.nodes.reset(); }, "nodes");
    refuses(
        network_forecast(), [](NetworkRun &run) { run.cases.clear(); }, "cases",
        "expected at least one case");
}

TEST(NetworkDocuments, AWrongResultIsReadHoweverFarItIsOff) {
    for (const double error : {1e9, std::numeric_limits<double>::infinity()}) {
        NetworkRun run = whole_run();
        run.first().status = Status::wrong_result;
        run.first().output_error = error;
        EXPECT_NO_THROW(described::read_document<NetworkRun>(to_text(described::write(run)), "it"));
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
        EXPECT_THAT([&] { described::read_document<NetworkRun>(to_text(described::write(run)), "it"); },
                    ThrowsMessage<InputError>(HasSubstr("another version of convcast wrote it; " +
                                                        std::string(verb) + " writes it anew")));
    }
}

TEST(NetworkDocuments, AForecastIsOfTimesAboveZero) {
    const auto says = [](const std::function<void(NetworkCase &)> &change, const std::string &place,
                         const std::string &expected) {
        refuses(
            network_forecast(), [&](NetworkRun &run) { change(run.first()); }, "cases/0/" + place, expected);
    };
    const std::string time = "expected a number from 1e-12 to 1e+06";
    says([](NetworkCase &of) { of.forecast->time_s = Seconds(0.0); }, "forecast/time_s", time);
    says([](NetworkCase &of) { of.light_s = Seconds(1e-300); }, "light_s", time);
    says([](NetworkCase &of) { of.batch = 0; }, "batch", "expected an integer from 1");
    says([](NetworkCase &of) { of.launches[0].time_s = Seconds(0.0); }, "launches/0/time_s", time);
    says([](NetworkCase &of) { of.launches[0].candidates[0].time_s = Seconds(0.0); },
         "launches/0/candidates/0/time_s", time);
    says([](NetworkCase &of) { of.launches[0].operators.clear(); }, "launches/0/operators",
         "expected the operators that the launch computes");
    says([](NetworkCase &of) { of.what_if[0].time_s = Seconds(0.0); }, "what_if/0/time_s", time);
    says([](NetworkCase &of) { of.forecast->low_s = Seconds(2.0), of.forecast->high_s = Seconds(1.0); },
         "forecast/low_s", "expected at most high_s");
    says([](NetworkCase &of) { of.launches[0].share = 1.5; }, "launches/0/share", "from 0 to 1");
    says([](NetworkCase &of) { of.launches[0].stream = 16; }, "launches/0/stream", "from 0 to 15");
    says([](NetworkCase &of) { of.launches[0].begins_s = Seconds(1.0); }, "launches/0/ends_s",
         "expected at least begins_s");
    says([](NetworkCase &of) { of.launches[0].l2_error = -1.0; }, "launches/0/l2_error", "expected");
}

TEST(NetworkDocuments, ALadderIsOfANetworkThatHasOne) {
    const auto says = [](const std::function<void(NetworkRun &)> &change, const std::string &place,
                         const std::string &expected) { refuses(ladder_run(), change, place, expected); };
    const std::string time = "expected a number from 1e-12 to 1e+06";
    says([](NetworkRun &run) { run.network = "fashion_mnits"; }, "network",
         "one of fashion_mnist, mnist, got \"fashion_mnits\"; did you mean 'fashion_mnist'?");
    says([](NetworkRun &run) { run.first().batch = 0; }, "cases/0/batch", "expected an integer from 1");
    says([](NetworkRun &run) { run.sequential_s = Seconds(0.0); }, "sequential_s", time);
    says([](NetworkRun &run) { run.first().measured->time_s = Seconds(0.0); }, "cases/0/measured/time_s",
         time);
    says([](NetworkRun &run) { run.first().output_error = 1e9; }, "cases/0/output_error",
         "expected at most 0.001");
    says([](NetworkRun &run) { run.first().kernels[0].launches = 0; }, "cases/0/kernels/0/launches",
         "expected an integer from 1");
    says([](NetworkRun &run) { run.cases.push_back(run.cases[0]); }, "cases/1/id",
         "expected each implementation once");
}

TEST(NetworkDocuments, ATrainingIsOfImages) {
    const auto says = [](const std::function<void(NetworkRun &)> &change, const std::string &place,
                         const std::string &expected) { refuses(training_run(), change, place, expected); };
    says([](NetworkRun &run) { run.network = "mnits"; }, "network", "did you mean 'mnist'?");
    says([](NetworkRun &run) { run.first().accuracy = 98.0; }, "cases/0/accuracy",
         "expected a number from 0 to 1");
    says([](NetworkRun &run) { run.first().training->images = 0; }, "cases/0/training/images",
         "expected an integer from 1");
    says([](NetworkRun &run) { run.first().measured->time_s = Seconds(0.0); }, "cases/0/measured/time_s",
         "expected a number from 1e-12");
    says([](NetworkRun &run) { run.first().disagreements = 1001; }, "cases/0/disagreements",
         "expected at most training/checked");
}

TEST(NetworkDocuments, AScalingIsOfStepsThatTookTime) {
    const auto says = [](const std::function<void(NetworkRun &)> &change, const std::string &place,
                         const std::string &expected) { refuses(scaling_run(), change, place, expected); };
    says([](NetworkRun &run) { run.network = "mnits"; }, "network", "did you mean 'mnist'?");
    says([](NetworkRun &run) { run.cases[0].batch = 0; }, "cases/0/batch", "expected an integer from 1");
    says([](NetworkRun &run) { run.cases[0].devices = 4097; }, "cases/0/devices", "from 1 to 4096");
    says(
        [](NetworkRun &run) {
            run.cases[0].split = DeviceSplit::batch;
            run.cases[0].devices = 9;
        },
        "cases/0/devices", "at most 8, or the split batch_nccl");
    says([](NetworkRun &run) { run.cases[0].measured->time_s = Seconds(0.0); }, "cases/0/measured/time_s",
         "expected a number from 1e-12");
    says([](NetworkRun &run) { run.cases[0].shares.clear(); }, "cases/0/shares",
         "expected [2048], what each GPU has of this step");
    says([](NetworkRun &run) { run.cases[0].output_error = 1e9; }, "cases/0/output_error",
         "expected at most 0.001");
    says([](NetworkRun &run) { run.peers->bandwidth_bytes_per_s = Bandwidth(0.0); },
         "peers/bandwidth_bytes_per_s", "expected a number from 1");
}

} // namespace
