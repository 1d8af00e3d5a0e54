// Documents of networks: numbers that nothing can have taken or given are refused by file, line and place.
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network_run.hpp"
#include "model/network/scaling.hpp"
#include "model/network/training.hpp"

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
    NetworkRun forecast;
    forecast.network = "alexnet";
    forecast.time_s = Seconds(126e-6), forecast.light_s = Seconds(60e-6);
    forecast.nodes = 19;
    NetworkLaunch &launch = forecast.launches.emplace_back();
    launch.operators = {"conv1"};
    launch.time_s = Seconds(5e-6);
    launch.share = 1.0;
    launch.begins_s = Seconds(0.0), launch.ends_s = Seconds(5e-6);
    launch.candidates = {{"winograd", Seconds(4e-6)}};
    forecast.what_if = {{"twice the SMs", Seconds(100e-6)}};
    return forecast;
}

NetworkRun whole_run() {
    NetworkRun run = network_forecast();
    NetworkMeasurement &measured = run.measured.emplace();
    measured.status = Status::ok;
    measured.l2_error = 1e-7;
    measured.replayed_s = TimeSpread{Seconds(119e-6), Seconds(118e-6), Seconds(120e-6), 15};
    run.launches[0].measured = LaunchMeasurement{*measured.replayed_s, 1.0, Seconds(0.0), Seconds(5e-6)};
    return run;
}

LadderRun ladder_run() {
    LadderRun run;
    run.network = "fashion_mnist";
    RungResult &rung = run.rungs.emplace_back();
    rung.id = "constant";
    rung.status = Status::ok;
    rung.graph_warm_s = Seconds(1e-5);
    rung.relative_l2_error = 1e-7;
    rung.kernels = {{"conv_all", 1, Seconds(1e-6), Seconds(0.0), Seconds(1e-6)}};
    return run;
}

TrainingRun training_run() {
    TrainingRun run;
    run.network = "mnist";
    run.images = 60000, run.test_images = 10000, run.checked = 1000;
    run.descent.rate = 0.1;
    run.accuracy = run.reference_accuracy = 0.98;
    return run;
}

Scaling scaling_run() {
    Scaling run;
    run.network = "mnist";
    run.peers = {Bandwidth(385e9), Seconds(1e-6), Source::measured, "peer_copy"};
    ScalingCase &item = run.cases.emplace_back();
    item.batch = 2048;
    item.shares = {2048};
    item.status = Status::ok;
    item.measured = ScalingTimes{Seconds(1e-5), Seconds(1e-5), Seconds(2e-5), Seconds(2e-5), Seconds(0.0)};
    return run;
}

/// As it is, the document is read; with the change it is refused, by file, place and what was expected.
template <class T>
void refuses(T document, const std::function<void(T &)> &change, const std::string &place,
             const std::string &expected) {
    const auto read = [](const T &from) {
        (void)described::read_document<T>(to_text(described::write(from)), "it.json", from.schema);
    };
    EXPECT_NO_THROW(read(document));
    change(document);
    EXPECT_THAT([&] { read(document); },
                ThrowsMessage<InputError>(
                    AllOf(HasSubstr("it.json:"), HasSubstr(": /" + place + ": "), HasSubstr(expected))));
}

TEST(NetworkDocuments, AWholeRunTookTimeForImages) {
    const auto says = [](const std::function<void(NetworkMeasurement &)> &change, const std::string &place,
                         const std::string &expected) {
        refuses<NetworkRun>(
            whole_run(), [&](NetworkRun &run) { change(*run.measured); }, "measured/" + place, expected);
    };
    const std::string time = "expected a number from 1e-12 to 1e+06";
    says([](NetworkMeasurement &its) { its.replayed_s->median_s = Seconds(0.0); }, "replayed_s/median_s",
         time);
    says([](NetworkMeasurement &its) { its.replayed_s->p05_s = Seconds(1e-300); }, "replayed_s/p05_s", time);
    says([](NetworkMeasurement &its) { its.replayed_s->p95_s = Seconds(1e-6); }, "replayed_s/p95_s",
         "expected at least median_s");
    says([](NetworkMeasurement &its) { its.replayed_s->samples = 0; }, "replayed_s/samples",
         "expected an integer from 1");
    says([](NetworkMeasurement &its) { its.l2_error = 1e9; }, "l2_error",
         "expected at most 0.001 of a result whose status");
    says([](NetworkMeasurement &its) { its.l2_error = std::numeric_limits<double>::quiet_NaN(); }, "l2_error",
         "\"wrong_result\"");
}

TEST(NetworkDocuments, ALaunchThatRanTookItsShare) {
    const auto says = [](const std::function<void(LaunchMeasurement &)> &change, const std::string &place,
                         const std::string &expected) {
        refuses<NetworkRun>(
            whole_run(), [&](NetworkRun &run) { change(*run.launches[0].measured); },
            "launches/0/measured/" + place, expected);
    };
    says([](LaunchMeasurement &its) { its.share = 1.5; }, "share", "from 0 to 1");
    says([](LaunchMeasurement &its) { its.time_s.median_s = Seconds(0.0); }, "time_s/median_s",
         "expected a number from 1e-12");
    says([](LaunchMeasurement &its) { its.begins_s = Seconds(1.0); }, "ends_s", "expected at least begins_s");
}

TEST(NetworkDocuments, AWrongResultIsReadHoweverFarItIsOff) {
    for (const double error : {1e9, std::numeric_limits<double>::infinity()}) {
        NetworkRun run = whole_run();
        run.measured->status = Status::wrong_result;
        run.measured->l2_error = error;
        EXPECT_NO_THROW(
            described::read_document<NetworkRun>(to_text(described::write(run)), "it", run.schema));
    }
}

TEST(NetworkDocuments, ThoseOfVersion01AreRefusedWithTheVerbThatRenewsThem) {
    for (const auto &[schema, verb] :
         {std::pair{"convcast/network_forecast/1", "`convcast predict --network`"},
          {"convcast/network_run/1", "`convcast run --network`"}}) {
        NetworkRun run = whole_run();
        run.schema = schema;
        EXPECT_THAT(
            [&] {
                described::read_document<NetworkRun>(to_text(described::write(run)), "it",
                                                     NetworkRun().schema);
            },
            ThrowsMessage<InputError>(
                HasSubstr("another version of convcast wrote it; " + std::string(verb) + " writes it anew")));
    }
}

TEST(NetworkDocuments, AForecastIsOfTimesAboveZero) {
    const auto says = [](const std::function<void(NetworkRun &)> &change, const std::string &place,
                         const std::string &expected) {
        refuses(network_forecast(), change, place, expected);
    };
    const std::string time = "expected a number from 1e-12 to 1e+06";
    says([](NetworkRun &of) { of.time_s = Seconds(0.0); }, "time_s", time);
    says([](NetworkRun &of) { of.light_s = Seconds(1e-300); }, "light_s", time);
    says([](NetworkRun &of) { of.batch = 0; }, "batch", "expected an integer from 1");
    says([](NetworkRun &of) { of.launches[0].time_s = Seconds(0.0); }, "launches/0/time_s", time);
    says([](NetworkRun &of) { of.launches[0].candidates[0].time_s = Seconds(0.0); },
         "launches/0/candidates/0/time_s", time);
    says([](NetworkRun &of) { of.launches[0].operators.clear(); }, "launches/0/operators",
         "expected the operators that the launch computes");
    says([](NetworkRun &of) { of.what_if[0].time_s = Seconds(0.0); }, "what_if/0/time_s", time);
    says([](NetworkRun &of) { of.low_s = Seconds(2.0), of.high_s = Seconds(1.0); }, "low_s",
         "expected at most high_s");
    says([](NetworkRun &of) { of.launches[0].share = 1.5; }, "launches/0/share", "from 0 to 1");
    says([](NetworkRun &of) { of.launches[0].stream = 16; }, "launches/0/stream", "from 0 to 15");
    says([](NetworkRun &of) { of.launches[0].begins_s = Seconds(1.0); }, "launches/0/ends_s",
         "expected at least begins_s");
    says([](NetworkRun &of) { of.launches[0].l2_error = -1.0; }, "launches/0/l2_error", "expected");
}

TEST(NetworkDocuments, ALadderIsOfANetworkThatHasOne) {
    const auto says = [](const std::function<void(LadderRun &)> &change, const std::string &place,
                         const std::string &expected) { refuses(ladder_run(), change, place, expected); };
    const std::string time = "expected a number from 1e-12 to 1e+06";
    says([](LadderRun &run) { run.network = "fashion_mnits"; }, "network",
         "one of fashion_mnist, mnist, got \"fashion_mnits\"; did you mean 'fashion_mnist'?");
    says([](LadderRun &run) { run.batch = 0; }, "batch", "expected an integer from 1");
    says([](LadderRun &run) { run.sequential_s = Seconds(0.0); }, "sequential_s", time);
    says([](LadderRun &run) { run.rungs[0].graph_warm_s = Seconds(0.0); }, "rungs/0/graph_warm_s", time);
    says([](LadderRun &run) { run.rungs[0].relative_l2_error = 1e9; }, "rungs/0/relative_l2_error",
         "expected at most 0.001");
    says([](LadderRun &run) { run.rungs[0].kernels[0].launches = 0; }, "rungs/0/kernels/0/launches",
         "expected an integer from 1");
    says([](LadderRun &run) { run.rungs.push_back(run.rungs[0]); }, "rungs/1/id",
         "expected each implementation once");
}

TEST(NetworkDocuments, ATrainingIsOfImages) {
    const auto says = [](const std::function<void(TrainingRun &)> &change, const std::string &place,
                         const std::string &expected) { refuses(training_run(), change, place, expected); };
    says([](TrainingRun &run) { run.network = "mnits"; }, "network", "did you mean 'mnist'?");
    says([](TrainingRun &run) { run.accuracy = 98.0; }, "accuracy", "expected a number from 0 to 1");
    says([](TrainingRun &run) { run.images = 0; }, "images", "expected an integer from 1");
    says([](TrainingRun &run) { run.step_s = Seconds(0.0); }, "step_s", "expected a number from 1e-12");
    says([](TrainingRun &run) { run.disagreements = 1001; }, "disagreements", "expected at most checked");
}

TEST(NetworkDocuments, AScalingIsOfStepsThatTookTime) {
    const auto says = [](const std::function<void(Scaling &)> &change, const std::string &place,
                         const std::string &expected) { refuses(scaling_run(), change, place, expected); };
    says([](Scaling &run) { run.network = "mnits"; }, "network", "did you mean 'mnist'?");
    says([](Scaling &run) { run.cases[0].batch = 0; }, "cases/0/batch", "expected an integer from 1");
    says([](Scaling &run) { run.cases[0].devices = 9; }, "cases/0/devices", "from 1 to 8");
    says([](Scaling &run) { run.cases[0].measured->step_s = Seconds(0.0); }, "cases/0/measured/step_s",
         "expected a number from 1e-12");
    says([](Scaling &run) { run.cases[0].shares.clear(); }, "cases/0/shares",
         "expected [2048], what each GPU has of this step");
    says([](Scaling &run) { run.cases[0].output_error = 1e9; }, "cases/0/output_error",
         "expected at most 0.001");
    says([](Scaling &run) { run.peers.bandwidth_bytes_per_s = Bandwidth(0.0); },
         "peers/bandwidth_bytes_per_s", "expected a number from 1");
}

} // namespace
