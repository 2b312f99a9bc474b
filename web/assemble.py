"""Writes the page: one file, with the program, its style and its scripts. Arguments: the WebAssembly, the program
that was built from the same source, and the page to write.

The report is shown in a frame, which inherits the page's content security policy, so that policy names the report's
script and style, too. They are asked of the program."""

import base64
import gzip
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent

# What the page can show before there is a capture, and reads to warm up.
SAMPLE = HERE.parent / "samples/diagnose-path-faults.pcap"


def sources(kind: str, policy: str) -> str:
    return re.search(rf"{kind}-src ([^;]*)", policy).group(1)


def hashed(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def policy_of_report(program: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.html")
        subprocess.run([program, "report", "--no-config", "-o", report, SAMPLE], check=True, capture_output=True)
        return re.search(r'Content-Security-Policy" content="([^"]*)"', report.read_text()).group(1)


def main(wasm: str, program: str, page: str) -> None:
    texts = {name: (HERE / name).read_text() for name in ("page.html", "page.css", "page.js", "worker.js")}
    for name in ("page.js", "worker.js"):
        assert "</script" not in texts[name], f"{name} would end its element"
    report = policy_of_report(program).replace("&#39;", "'")
    policy = "; ".join([
        "default-src 'none'",
        f"script-src 'wasm-unsafe-eval' {hashed(texts['page.js'])} {sources('script', report)}",
        f"style-src {hashed(texts['page.css'])} {sources('style', report)}",
        "worker-src blob:",
        "frame-src blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ])
    packed = gzip.compress(pathlib.Path(wasm).read_bytes(), 9, mtime=0)
    sample = gzip.compress(SAMPLE.read_bytes(), 9, mtime=0)
    parts = {
        "POLICY": policy,
        "STYLE": texts["page.css"],
        "PROGRAM": base64.b64encode(packed).decode(),
        "SAMPLE": base64.b64encode(sample).decode(),
        "WORKER": texts["worker.js"],
        "SCRIPT": texts["page.js"],
    }
    written = re.sub("@([A-Z]+)@", lambda found: parts[found.group(1)], texts["page.html"])
    pathlib.Path(page).write_text(written)
    print(f"wrote {page}: {len(written) / 1e6:.2f} MB, {len(gzip.compress(written.encode(), 9)) / 1e6:.2f} MB compressed")


main(*sys.argv[1:])
