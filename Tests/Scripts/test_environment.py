"""scripts/clean-environment lets nothing of the caller through, and scripts/smoke is seen to fail."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"
SECRETS = {"PUSHBRIDGE_APNS_KEY": "secret", "GOOGLE_APPLICATION_CREDENTIALS": "/secret", "HTTPS_PROXY": "http://secret",
           "REDIS_URL": "secret"}


def run(*command, environment=None):
    return subprocess.run([str(part) for part in command], env=os.environ | (environment or {}), capture_output=True,
                          text=True, timeout=60)


class Environment(unittest.TestCase):
    def test_only_what_is_constructed_arrives(self):
        done = run(SCRIPTS / "clean-environment", "GIVEN=1", "env", environment=SECRETS | {"JSON_TEST_SUITE": "/suite"})
        names = {line.split("=")[0] for line in done.stdout.splitlines()}
        self.assertLessEqual(names, {"PATH", "HOME", "TMPDIR", "LANG", "TERM", "JSON_TEST_SUITE", "GIVEN"})
        self.assertNotIn("secret", done.stdout)

    def test_the_home_folder_is_empty_and_gone_afterwards(self):
        done = run(SCRIPTS / "clean-environment", "sh", "-c", "echo $HOME; ls -A $HOME; touch $HOME/file; exit 7")
        home, *rest = done.stdout.split()
        self.assertEqual(done.returncode, 7)
        self.assertEqual(rest, ["tmp"])
        self.assertFalse(Path(home).exists())

    def test_setup_refuses_an_unknown_purpose(self):
        self.assertEqual(run(SCRIPTS / "setup", "nonsense").returncode, 1)


class Smoke(unittest.TestCase):
    def smoke(self, program):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program"
            path.write_text("#!/bin/sh\n" + program, encoding="utf-8")
            path.chmod(0o755)
            return run(SCRIPTS / "smoke", path, environment={"TMPDIR": folder})

    def test_a_program_with_wrong_exit_codes_fails(self):
        done = self.smoke('echo "$@" worker PUSHBRIDGE_REDIS_URL\n')
        self.assertEqual(done.returncode, 1)
        self.assertIn("no-such-command", done.stdout)

    def test_a_program_that_says_nothing_fails(self):
        done = self.smoke("exit 0\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not say", done.stdout)

    def test_a_demo_that_leaves_something_fails(self):
        done = self.smoke('''case "$*" in
            no-such-command) echo no-such-command; exit 2 ;;
            "worker --redis-url nonsense://") echo PUSHBRIDGE_REDIS_URL; exit 78 ;;
            worker) echo PUSHBRIDGE_NONSENSE; exit 78 ;;
            demo) touch "$TMPDIR/left"; echo completed ;;
            *) echo "$1 worker" ;;
        esac
        ''')
        self.assertEqual(done.returncode, 1)
        self.assertIn("left something", done.stdout)


if __name__ == "__main__":
    unittest.main()
