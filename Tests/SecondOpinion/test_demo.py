"""The demo leaves nothing behind, however it ends, and says what is missing."""

import os
import signal
import tempfile
import unittest
from pathlib import Path

from support import PATH, PROGRAM, Child, eventually


def processes_naming(text):
    """The command lines that contain the text."""
    lines = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                lines.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return [line for line in lines if text in line]


class Demo(unittest.TestCase):
    def setUp(self):
        # Short: the path of a unix socket has at most 107 bytes.
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="demo-")))
        (self.folder / "tmp").mkdir()

    def start(self, *options, path=PATH):
        child = Child(self.folder, "demo", [PROGRAM, "demo", *options],
                      {"TMPDIR": str(self.folder / "tmp"), "PATH": path, "PUSHBRIDGE_REDIS_URL": "nonsense"})
        self.addCleanup(child.stop)
        return child

    def check_nothing_is_left(self):
        self.assertEqual(os.listdir(self.folder / "tmp"), [])
        eventually("no process is left", lambda: not processes_naming(str(self.folder / "tmp")))

    def test_it_ends_with_0_and_shows_both_pushes(self):
        demo = self.start()
        self.assertEqual(demo.process.wait(60), 0, demo.text())
        for part in ("apns production:", "fcm:", "1 expected, 1 sent"):
            self.assertIn(part, demo.text())
        self.check_nothing_is_left()

    def test_it_stays_until_ctrl_c(self):
        demo = self.start("--keep")
        demo.until("/received", within=60)
        self.assertTrue(processes_naming(str(self.folder / "tmp")))
        demo.process.send_signal(signal.SIGINT)
        self.assertEqual(demo.process.wait(20), 0, demo.text())
        self.check_nothing_is_left()

    def test_a_signal_in_the_middle_ends_it_in_order(self):
        for text in ("Starting", "Registering", "Publishing"):
            with self.subTest(text):
                demo = self.start("--keep")
                demo.until(text, within=60)
                demo.process.send_signal(signal.SIGTERM)
                self.assertIn(demo.process.wait(20), (0, 1), demo.text())
                self.check_nothing_is_left()
                demo.output.unlink()

    def test_it_says_so_when_redis_is_not_installed(self):
        demo = self.start(path="/nonexistent")
        self.assertEqual(demo.process.wait(20), 1)
        self.assertIn("redis-server", demo.text())
        self.check_nothing_is_left()


if __name__ == "__main__":
    unittest.main()
