#!/usr/bin/env python3
"""The examples of a campaign, forecast only: what each engine joins is what one call answers.

    campaign_test.py CONVCAST parallel|snakemake|slurm    exit code 77 where the engine is not installed; slurm: the script of the
                                                          array alone, with small scripts in the place of Slurm and convcast
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "campaign"
SHAPES = [f"n{n}c{c}h{h}w{h}k64r3s3_pad1x1" for n in (1, 8) for c in (16, 64) for h in (14, 28, 57)]
COMMANDS = {
    "parallel": ["seq 4 | parallel --jobs 2 --retries 3 ./shard {}/4 shards",
                 "$CONVCAST merge shards/*_of_4.jsonl -o all.jsonl", "$CONVCAST report all.jsonl -o page"],
    "snakemake": ["snakemake --cores 2 --quiet"],
}


def cases(path):
    return sorted((case["shape"], case["strategy"], case["prediction"]["time_s"]) for case in map(json.loads, path.read_text().splitlines()[1:])
                  if "prediction" in case)


def slurm(binary):
    """A job whose time is over: SIGTERM ends the shard, the script queues it again and says that it was interrupted."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder) / "campaign"
        shutil.copytree(SOURCE, work)
        stand_ins = {"scontrol": 'echo "$@" > requeued', "convcast": "trap 'exit 130' TERM; echo began > began; while :; do sleep 0.05; done"}
        for name, text in stand_ins.items():
            (work / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
            (work / name).chmod(0o755)
        own = os.environ | {"PATH": f"{work}:{os.environ['PATH']}", "SLURM_SUBMIT_DIR": str(work), "SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_JOB_ID": "77",
                            "CONVCAST": "convcast"}
        job = subprocess.Popen(["bash", "slurm.sbatch"], cwd=work, env=own, start_new_session=True)
        end = time.monotonic() + 30
        while not (work / "began").exists() and time.monotonic() < end:
            time.sleep(0.05)
        job.terminate()
        assert job.wait(timeout=30) == 130, job.returncode
        assert (work / "requeued").read_text().strip() == "requeue 77_2"
        # And a shard that ends by itself: its code is that of the job.
        own |= {"CONVCAST": str(pathlib.Path(binary).resolve()), "VERB": "predict", "OPTIONS": "--strategy implicit_gemm"}
        (work / "shapes.txt").write_text("\n".join(SHAPES) + "\n")
        done = subprocess.run(["bash", "slurm.sbatch"], cwd=work, env=own, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert (work / "shards" / "shard_2_of_8.jsonl").exists()
    return 0


def main(binary, engine):
    if engine == "slurm":
        return slurm(binary)
    if shutil.which(engine) is None:
        print(f"skipped: no {engine} here; apt-get install {engine}")
        return 77
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
        shards = sorted((work / "shards").glob("*.jsonl"))
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
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
