#!/usr/bin/env python3
"""The examples of a campaign, forecast only: what each engine joins is what one call answers.

    campaign_test.py CONVCAST parallel|snakemake|slurm|reframe    exit code 77 where the engine is not installed. slurm starts a Slurm of
                                                                  its own; where that cannot be, it is the script of the array alone,
                                                                  with small scripts in the place of Slurm and convcast.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from own_slurm import NotHere, own_slurm, until

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from skips import skipped  # noqa: E402

SOURCE = ROOT / "examples" / "campaign"
SHAPES = [f"n{n}c{c}h{h}w{h}k64r3s3_pad1x1" for n in (1, 8) for c in (16, 64) for h in (14, 28, 57)]
COMMANDS = {
    "parallel": ["seq 4 | parallel --jobs 2 --retries 3 ./shard {}/4 shards",
                 "$CONVCAST merge shards/*_of_4.jsonl -o all.jsonl", "$CONVCAST report all.jsonl -o page"],
    "snakemake": ["snakemake --cores 2 --quiet"],
}


def cases(path):
    return sorted((case["shape"], case["strategy"], case["prediction"]["time_s"]) for case in map(json.loads, path.read_text().splitlines()[1:])
                  if "prediction" in case)


# In the place of `convcast run`, which needs a GPU: 50 cases, a line and a fifth of a second each, and it goes on with --resume.
SLOW_RUN = """#!/usr/bin/env bash
echo "$*" >> calls
while (($#)); do [[ $1 == -o ]] && file=$2; shift; done
trap 'exit 130' TERM
touch "$file"
while (($(wc -l < "$file") < 50)); do
    wc -l < "$file" >> "$file"
    sleep 0.2 & wait $!
done
"""
# In the place of `convcast measure`: the profile that is named.
RECORDED_MEASURE = """#!/usr/bin/env bash
while (($#)); do [[ $1 == -o ]] && cp "$RECORDED" "$2"; shift; done
"""


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)


def slurm(binary):
    try:
        with own_slurm() as own:
            real_slurm(binary, own)
    except NotHere as reason:
        skipped("campaign_with_slurm", reason, "slurm-wlm", "munge")
        script_of_the_array(binary)
    return 0


def real_slurm(binary, own):
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder) / "campaign"
        shutil.copytree(SOURCE, work)
        (work / "shapes.txt").write_text("\n".join(SHAPES) + "\n")

        def call(*command, **more):
            done = subprocess.run(command, cwd=work, env=own | more, capture_output=True, text=True, check=False, timeout=60)
            logs = "".join(path.read_text() for path in work.glob("*.out"))
            assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}{logs}"
            return done.stdout.strip()

        # Forecasts ask for no GPU and leave the folder of the runs alone.
        forecast = {"CONVCAST": str(pathlib.Path(binary).resolve()), "VERB": "predict", "SHARDS": "4",
                    "OPTIONS": "--strategy implicit_gemm --strategy winograd"}
        call("sbatch", "--wait", "--array=1-4", "--gres=none", "slurm.sbatch", **forecast)
        assert not (work / "shards").exists()
        call(forecast["CONVCAST"], "merge", *map(str, (work / "forecasts").glob("*_of_4.jsonl")), "-o", "all.jsonl")
        call(forecast["CONVCAST"], "report", "all.jsonl", "-o", "page")
        judge(work, sorted((work / "forecasts").glob("*_of_4.jsonl")), own | forecast)

        script(work / "slow", SLOW_RUN)
        slow = {"CONVCAST": "./slow"}
        shard = work / "shards" / "shard_2_of_8.jsonl"

        def lines():
            return shard.read_text().splitlines() if shard.exists() else []

        def state():
            return call("squeue", "--noheader", "--states=all", "--Format=State:20", f"--jobs={job}_2").split()

        def grow():
            """Three more cases than there are now."""
            assert until(lambda enough=len(lines()) + 3: len(lines()) >= enough), state()

        def again():
            """Slurm lets two minutes pass before it starts what was queued again. This test waits two seconds: a node refuses a job that
            starts within the second in which it was ended."""
            assert until(lambda: state() == ["PENDING"]), state()
            time.sleep(2)
            call("scontrol", "update", f"JobId={job}_2", "StartTime=now")
            grow()

        job = call("sbatch", "--parsable", "--array=2", "slurm.sbatch", **slow)
        grow()
        call("scancel", "--batch", "--signal=USR1", f"{job}_2")  # what Slurm sends a minute before the time is over
        again()
        call("sbatch", "--wait", "--partition=urgent", "--gres=gpu:1", "--output=/dev/null", "--wrap=true")  # takes the GPU away
        again()
        call("scancel", job)
        assert until(lambda: state() == ["CANCELLED"]), state()
        time.sleep(1)
        assert state() == ["CANCELLED"], f"a cancelled shard came back: {state()}"
        assert len(lines()) < 50
        call("sbatch", "--wait", "--array=2", "slurm.sbatch", **slow)
        assert lines() == [str(case) for case in range(50)], lines()
        calls = (work / "calls").read_text().splitlines()
        assert ["--resume" in line for line in calls] == [False, True, True, True], calls


def script_of_the_array(binary):
    """A job whose time is over: SIGUSR1 ends the shard, the script queues it again and says that it was interrupted. SIGTERM only ends it."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder) / "campaign"
        shutil.copytree(SOURCE, work)
        script(work / "scontrol", '#!/usr/bin/env bash\necho "$@" > requeued\n')
        script(work / "convcast", "#!/usr/bin/env bash\ntrap 'exit 130' TERM; echo began > began; while :; do sleep 0.05; done\n")
        own = os.environ | {"PATH": f"{work}:{os.environ['PATH']}", "SLURM_SUBMIT_DIR": str(work), "SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_JOB_ID": "77",
                            "CONVCAST": "convcast"}
        for number, requeued in ((signal.SIGTERM, None), (signal.SIGUSR1, "requeue 77_2\n")):
            (work / "began").unlink(missing_ok=True)
            job = subprocess.Popen(["bash", "slurm.sbatch"], cwd=work, env=own, start_new_session=True)
            assert until((work / "began").exists)
            job.send_signal(number)
            assert job.wait(timeout=30) == 130, job.returncode
            assert ((work / "requeued").read_text() if (work / "requeued").exists() else None) == requeued
        # And a shard that ends by itself: its code is that of the job.
        own |= {"CONVCAST": str(pathlib.Path(binary).resolve()), "VERB": "predict", "OPTIONS": "--strategy implicit_gemm"}
        (work / "shapes.txt").write_text("\n".join(SHAPES) + "\n")
        done = subprocess.run(["bash", "slurm.sbatch"], cwd=work, env=own, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert (work / "forecasts" / "shard_2_of_8.jsonl").exists()


def reframe():
    """A node that does what the profile says passes; one that is 30 % slower, lacks a number or has another GPU fails."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        good = json.loads((ROOT / "profiles" / "h200.json").read_text())
        script(work / "convcast", RECORDED_MEASURE)

        def asked(change):
            node = json.loads(json.dumps(good))
            change(node)
            (work / "recorded.json").write_text(json.dumps(node))
            own = os.environ | {"CONVCAST": str(work / "convcast"), "PROFILE": str(ROOT / "profiles" / "h200.json"), "RECORDED": str(work / "recorded.json")}
            done = subprocess.run(["reframe", "-C", str(SOURCE / "reframe" / "one_node.py"), "-c", str(SOURCE / "reframe" / "gpu_performs.py"), "-r",
                                   "--prefix", str(work / "out")], cwd=work, env=own, capture_output=True, text=True, check=False, timeout=280)
            return done.returncode, done.stdout + done.stderr

        def slower(share):
            def change(node):
                for number in node.values():
                    if isinstance(number, dict) and "value" in number:
                        number["value"] *= 1 / share if number["unit"] in ("s", "clk") else share
            return change

        for change, code, text in ((slower(1), 0, ""), (slower(0.99), 0, ""), (slower(1.3), 0, ""), (slower(0.7), 1, "sm_clock"),
                                   (lambda node: node.pop("dram_read_bandwidth"), 1, "dram_read_bandwidth is missing"),
                                   (lambda node: node.update(name="NVIDIA H100"), 1, "this GPU is NVIDIA H100")):
            found, said = asked(change)
            assert found == code and text in said, said
    return 0


def judge(work, shards, own):
    """The shards joined are what one call answers, and merge says what does not belong together."""
    assert len(shards) == 4, shards
    sizes = [len({shape for shape, *_ in cases(path)}) for path in shards]
    assert sum(sizes) == len(SHAPES) and min(sizes) > 0, sizes
    subprocess.run([own["CONVCAST"], "predict", "--shapes", "shapes.txt", *own["OPTIONS"].split(), "--json", "-o", "one.jsonl"], cwd=work, check=True,
                   capture_output=True)
    assert cases(work / "all.jsonl") == cases(work / "one.jsonl"), "the joined document is not that of one call"
    assert (work / "page" / "page.html").stat().st_size > 10000
    again = subprocess.run([own["CONVCAST"], "merge", *map(str, shards[:3]), str(shards[0])], cwd=work, capture_output=True, text=True, check=False)
    assert again.returncode == 2 and "was given twice" in again.stderr, again.stderr
    gap = subprocess.run([own["CONVCAST"], "merge", *map(str, shards[:3]), "-o", "gap.jsonl"], cwd=work, capture_output=True, text=True, check=False)
    assert gap.returncode == 1 and "not given: 4/4" in gap.stderr, gap.stderr
    (work / "shapes.txt").write_text("\n".join(SHAPES[1:]) + "\n")
    subprocess.run(["./shard", "2/4", "others"], cwd=work, env=own, check=True, capture_output=True)
    other = subprocess.run([own["CONVCAST"], "merge", str(shards[0]), "others/shard_2_of_4.jsonl"], cwd=work, capture_output=True, text=True, check=False)
    assert other.returncode != 0 and "another question" in other.stderr, other.stderr


def main(binary, engine):
    if engine == "slurm":
        return slurm(binary)
    if shutil.which(engine) is None:
        if engine == "reframe":
            skipped("campaign_reframe", "no reframe here; pip install reframe-hpc")
        else:
            skipped(f"campaign_{engine}", f"no {engine} here", engine)
        return 77
    if engine == "reframe":
        return reframe()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder) / "campaign"
        shutil.copytree(SOURCE, work)
        (work / "shapes.txt").write_text("\n".join(SHAPES) + "\n")
        own = os.environ | {"CONVCAST": str(pathlib.Path(binary).resolve()), "VERB": "predict", "SHARDS": "4", "HOME": folder,
                            "OPTIONS": "--strategy implicit_gemm --strategy winograd"}
        for command in COMMANDS[engine]:
            done = subprocess.run(["bash", "-c", command], cwd=work, env=own, capture_output=True, text=True, check=False, timeout=280)
            if done.returncode != 0:
                sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        judge(work, sorted((work / "shards").glob("*.jsonl")), own)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
