"""A Slurm of one node for the time of a test: munged, slurmctld and slurmd of this machine, with a configuration, ports and a folder of their own."""
import contextlib
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue")

# /dev/null is the GPU that the jobs ask for. A job of the partition urgent makes those of the other one end and be queued again.
CONFIGURATION = """
ClusterName=test
SlurmctldHost=localhost
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1
MpiDefault=none
GresTypes=gpu
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=localhost CPUs=2 Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES PriorityTier=1
PartitionName=urgent Nodes=ALL PriorityTier=2
"""


class NotHere(Exception):
    """There is no Slurm that could be started; the text says why."""


def until(what, seconds=30):
    """What it returns as soon as that is true."""
    end = time.monotonic() + seconds
    while not (found := what()):
        if time.monotonic() > end:
            return found
        time.sleep(0.1)
    return found


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def own_slurm():
    """The environment in which sbatch and the others speak to it. All that was started is stopped at the end."""
    path = f"{os.environ['PATH']}:/usr/local/sbin:/usr/sbin:/sbin"
    if lacking := [name for name in PROGRAMS if shutil.which(name, path=path) is None]:
        raise NotHere(f"{lacking[0]} is not installed")
    with tempfile.TemporaryDirectory(prefix="slurm_", ignore_cleanup_errors=True) as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # munged refuses a socket that not everyone could reach
        for sub in ("state", "spool"):
            (folder / sub).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)
        (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder, ports=free_ports(2), user=pwd.getpwuid(os.geteuid()).pw_name))
        (folder / "gres.conf").write_text("NodeName=localhost Name=gpu File=/dev/null\n")
        own = {word: value for word, value in os.environ.items() if not word.startswith(("SLURM_", "SBATCH_"))}
        own |= {"PATH": path, "SLURM_CONF": str(folder / "slurm.conf")}

        def start(*command):
            log = stack.enter_context((folder / f"{command[0]}.log").open("ab"))
            daemon = subprocess.Popen(command, env=own, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, start_new_session=True)
            stack.callback(stop, daemon)
            return daemon

        def stop(daemon):
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

        def say(command):
            return subprocess.run(command, env=own, capture_output=True, text=True, check=False, timeout=30).stdout.strip()

        def why(program):
            lines = (folder / f"{program}.log").read_text(errors="replace").splitlines()
            wrong = [line for line in lines if "rror" in line] or lines
            return NotHere(f"{program} did not start: {wrong[-1].strip() if wrong else 'it says nothing'}")

        files = [f"--{kind}={folder}/munge{end}" for kind, end in
                 (("socket", ".socket"), ("key-file", ".key"), ("pid-file", ".pid"), ("log-file", "d.log"), ("seed-file", ".seed"))]
        daemon = start("munged", "--foreground", *files)
        if not until(lambda: (folder / "munge.socket").exists() or daemon.poll() is not None) or daemon.poll() is not None:
            raise why("munged")
        daemon = start("slurmctld", "-D", "-i")
        if not until(lambda: "localhost" in say(["sinfo", "-h", "-N"]) or daemon.poll() is not None) or daemon.poll() is not None:
            raise why("slurmctld")
        # Older versions know no disabled plugin of control groups, and newer ones need it where there is no systemd.
        for groups in ("disabled", "autodetect"):
            (folder / "cgroup.conf").write_text(f"CgroupPlugin={groups}\n")
            daemon = start("slurmd", "-D", "-N", "localhost")
            if until(lambda: "idle" in say(["sinfo", "-h"]) or daemon.poll() is not None) and daemon.poll() is None:
                break
        else:
            raise why("slurmd")

        def end_jobs():
            say(["scancel", "--user", pwd.getpwuid(os.geteuid()).pw_name])
            until(lambda: not say(["squeue", "-h"]), seconds=10)

        stack.callback(end_jobs)
        yield own
