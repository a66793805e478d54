"""Each rule of scripts/limits is seen to fail on a small package that breaks it, and to pass on one that does not."""

import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "limits"
GOOD = "import Glibc\n\nfunc answer() -> Int {\n    42\n}\n"


def body(lines):
    return "import Glibc\n\nfunc long(\n    of: Int\n) -> Int {\n" + "    _ = 1\n" * lines + "}\n"


class Limits(unittest.TestCase):
    def run_limits(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            content = {"Sources/Worker/Good.swift": GOOD}
            content |= {name: "text\n" for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")}
            for name, text in (content | files).items():
                if text is not None:
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text(text, encoding="utf-8")
            done = subprocess.run([SCRIPT, root], capture_output=True, text=True, timeout=20)
            return done.returncode, done.stdout + done.stderr

    def test_a_good_package_passes_and_the_counts_are_printed(self):
        code, output = self.run_limits({})
        self.assertEqual(code, 0, output)
        self.assertIn("1 Swift files", output)
        self.assertIn("1 functions", output)

    def test_a_package_without_functions_is_refused(self):
        code, output = self.run_limits({"Sources/Worker/Good.swift": None})
        self.assertEqual(code, 1)
        self.assertIn("nothing to check", output)

    def test_bounds_themselves_pass(self):
        files = {"Sources/Worker/A.swift": body(60), "Sources/Worker/B.swift": "\n" * 500, "README.md": "a\n" * 180}
        code, output = self.run_limits(files)
        self.assertEqual(code, 0, output)

    def test_each_broken_rule_is_found(self):
        cases = [
            ("file too long", "Sources/Worker/A.swift", "\n" * 501, "501 lines"),
            ("function too long", "Sources/Worker/A.swift", body(61), "61 lines"),
            ("initialiser too long", "Sources/Worker/A.swift", body(61).replace("func long", "init"), "61 lines"),
            ("method too long", "Sources/Worker/A.swift", "struct A {\n" + body(61).split("\n", 2)[2].replace("\n", "\n    ")
             .replace("func", "    package static func", 1) + "\n}\n", "61 lines"),
            ("line too long", "Sources/Worker/A.swift", "let a = " + "1 + " * 40 + "1\n", "columns"),
            ("C module in a wrong folder", "Sources/Worker/A.swift", "internal import CHiredis\n", "CHiredis"),
            ("C module of another folder", "Sources/HTTP2/A.swift", "internal import COpenSSL\n", "COpenSSL"),
            ("unsafe in a wrong folder", "Sources/Worker/A.swift", "let a = unsafe b()\n", "`unsafe`"),
            ("Foundation low down", "Sources/Redis/A.swift", "import FoundationEssentials\n", "Foundation"),
            ("a layer upside down", "Sources/Transport/A.swift", "import Redis\n", "above"),
            ("no reason", "Sources/Worker/A.swift", "final class A: @unchecked Sendable {\n}\n", "why"),
            ("public", "Sources/Worker/A.swift", "public func a() {}\n", "public"),
            ("trap", "Sources/Worker/A.swift", "let a = try! b()\n", "traps"),
            ("Process", "Sources/Worker/A.swift", "let a = Process()\n", "Process"),
            ("sleep in a test", "Tests/WorkerTests/A.swift", "try await Task.sleep(for: .seconds(1))\n", "sleeps"),
            ("empty test", "Tests/WorkerTests/A.swift", "#expect(true)\n", "nothing"),
            ("long README", "README.md", "a\n" * 181, "181 lines"),
            ("README missing", "README.md", None, "missing"),
            ("too many unchecked", "Sources/Worker/A.swift",
             "// Sendable: confined.\nfinal class A: @unchecked Sendable {}\n" * 9, "9 times"),
        ]
        for name, path, text, expected in cases:
            with self.subTest(name):
                code, output = self.run_limits({path: text})
                self.assertEqual(code, 1, output)
                self.assertIn(expected, output)

    def test_what_only_looks_broken_passes(self):
        files = {
            "Sources/Transport/A.swift": "internal import CLinux\n\nlet a = unsafe b()\n",
            "Sources/Worker/A.swift": "// This is not unsafe.\n/// Never `try!` here.\nlet a = 1\n",
            "Sources/Worker/B.swift": "/// Immutable, so Sendable.\n@safe\nfinal class B: @unchecked Sendable {}\n",
        }
        code, output = self.run_limits(files)
        self.assertEqual(code, 0, output)


if __name__ == "__main__":
    unittest.main()
