"""Does this node's GPU still perform? A few probes of convcast measure, against a profile that was measured on a good node.

What is expected, and how far a good node's samples lie apart, is read from the profile: README.md beside this folder.
    PROFILE   the profile of a good node
    GPUS      how many GPUs the node has (default 1); each is asked by itself
    CONVCAST  the program (default convcast)
"""
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError

MORE_IS_BETTER = ("Hz", "B/s", "B/clk", "fma/clk")
LESS_IS_BETTER = ("s", "clk")


def expected(profile, probes, margin):
    """Each number that the probes gave the profile, as ReFrame wants it: value, share allowed below, share allowed above, unit."""
    numbers = {}
    for field, number in profile.items():
        if not isinstance(number, dict) or number.get("source") != "measured" or number["by"].split()[0] not in probes:
            continue
        value, unit = number["value"], number["unit"]
        low, high = [number["spread"][end] for end in ("p05", "p95")] if "spread" in number else [number["interval"][end] for end in ("low", "high")]
        if unit in MORE_IS_BETTER:
            numbers[field] = (value, min(low / value - 1, 0) - margin, None, unit)
        elif unit in LESS_IS_BETTER:
            numbers[field] = (value, None, max(high / value - 1, 0) + margin, unit)
    return numbers


@rfm.simple_test
class gpu_performs(rfm.RunOnlyRegressionTest):
    descr = "the GPU does what the profile of a good node says"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    gpu = parameter(range(int(os.environ.get("GPUS", "1"))))
    profile = variable(str, value=os.environ.get("PROFILE", ""))
    probes = variable(typ.List[str], value=["sm_clock", "ffma_rate", "tf32_mma_rate", "dram_read_bandwidth", "dram_write_bandwidth",
                                            "l2_read_bandwidth", "host_copy"])
    margin = variable(float, value=0.03)
    executable = os.environ.get("CONVCAST", "convcast")
    keep_files = ["node.json"]
    time_limit = "10m"

    @run_after("setup")
    def read_profile(self):
        if not self.profile:
            raise SanityError("PROFILE does not name the profile of a good node")
        with open(self.profile, encoding="utf-8") as file:
            self.good = json.load(file)
        self.numbers = expected(self.good, self.probes, self.margin)
        self.reference = {"*": self.numbers}
        only = [word for probe in self.probes for word in ("--only", probe)]
        self.executable_opts = ["measure", *only, "--device", str(self.gpu), "-o", "node.json"]

    def node(self):
        with open(os.path.join(self.stagedir, "node.json"), encoding="utf-8") as file:
            return json.load(file)

    # ReFrame leaves out a number that cannot be read, with a warning. So what is not there fails here.
    @sanity_function
    def all_is_measured(self):
        if not self.numbers:
            raise SanityError(f"{self.profile}: no number that these probes measured")
        if not os.path.exists(os.path.join(self.stagedir, "node.json")):
            raise SanityError("convcast measure wrote no profile; its standard error says why")
        node = self.node()
        if node["name"] != self.good["name"]:
            raise SanityError(f"this GPU is {node['name']}, the profile is of {self.good['name']}")
        for field in self.numbers:
            if field not in node:
                raise SanityError(f"{field} is missing: {node.get('missing', {}).get(field, 'no reason is given')}")
        return True

    @run_before("performance")
    def name_numbers(self):
        self.perf_variables = {field: sn.make_performance_function(self.measured, unit, field) for field, (_, _, _, unit) in self.numbers.items()}

    def measured(self, field):
        return self.node()[field]["value"]
