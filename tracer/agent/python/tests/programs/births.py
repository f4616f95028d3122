"""Starts processes in each way, and finds the classes as they are without an agent."""

import multiprocessing
import pickle
import subprocess
import traceback


def work(n):
    return n


def spawn_worker(method):
    process = multiprocessing.get_context(method).Process(target=work, args=(1,))
    process.start()
    return process


if __name__ == "__main__":
    started = [spawn_worker(method) for method in ("fork", "spawn", "forkserver")]
    command = subprocess.Popen(["true"])
    pids = [process.pid for process in started] + [command.pid]
    try:
        subprocess.Popen(["/no/such/program"])
    except FileNotFoundError as error:
        print(len(traceback.extract_tb(error.__traceback__)), "frames")
    for process in started:
        process.join()
        assert process.sentinel and process.exitcode == 0
    command.wait()
    fresh = multiprocessing.Process(target=work, args=(1,))
    print(hasattr(fresh, "_sentinel"), subprocess.Popen._child_created, command._child_created)
    print(pickle.loads(pickle.dumps(subprocess.CompletedProcess([], 0))).returncode)
    print(*pids)
