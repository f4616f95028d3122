"""Runs cells in a real Jupyter kernel, of the interpreter that runs this, and looks
at what a notebook would show."""

import sys

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

SECONDS = 60


def run(client, code):
    """The messages of a cell: (what it printed, its outputs by type)."""
    printed, shown = [], []

    def take(message):
        content = message["content"]
        if message["msg_type"] == "stream":
            printed.append(content["text"])
        elif message["msg_type"] in ("display_data", "execute_result"):
            shown.append(content["data"])
        elif message["msg_type"] == "error":
            printed.append("\n".join(content["traceback"]))

    client.execute_interactive(code, timeout=SECONDS, output_hook=take)
    return "".join(printed), shown


def check(condition, *what):
    if not condition:
        print("wrong:", *what)
        sys.exit(1)


class Spec:
    """Kernels of this interpreter, whatever is installed for Jupyter."""

    def get_kernel_spec(self, name):
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name=name, language="python")


def main():
    manager = KernelManager()
    manager.kernel_spec_manager.get_kernel_spec = Spec().get_kernel_spec
    manager.start_kernel()
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=SECONDS)
        cells(client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    print("fine")


def cells(client):
    printed, _ = run(client, "%load_ext gpumem\nimport time\nkept = []")
    check(printed == "", "loading printed", printed)
    leak = "kept.append(bytearray(1 << 20)); time.sleep(0.02)\n"
    printed, shown = run(client, "%%gpumem -n 100 w\n" + leak)
    check(len(shown) == 1, "shown", len(shown), printed)
    page, text = shown[0]["text/html"], shown[0]["text/plain"]
    check(page.startswith("<iframe") and "&lt;html" in page and len(page) > 10000, page[:200])
    check("grow" in text, text)
    printed, _ = run(client, "print(w.verdict != 'none', len(kept))")
    check(printed == "True 100\n", printed)
    printed, shown = run(client, "w")
    check(len(shown) == 1 and "text/html" in shown[0], "the watch itself", shown)
    printed, shown = run(client, "%gpumem y = [0] * 1000\nprint(len(y))")
    check(len(shown) == 1 and printed.endswith("1000\n"), "a line", printed)
    printed, shown = run(client, "%%gpumem -t\nz = 1")
    check(not shown and "judged" in printed or "undecided" in printed, "as text", printed)
    printed, shown = run(client, "%%gpumem -n 50\n1 / 0")
    check(printed.count("ZeroDivisionError") <= 2, "an error ends it", printed)
    printed, shown = run(client, "%%gpumem --what\nnever = 1")
    check("cannot read '--what'" in printed and "usage" in printed and not shown, printed)
    printed, _ = run(client, "%unload_ext gpumem\n%gpumem")
    check("not found" in printed, "unloaded", printed)


main()
