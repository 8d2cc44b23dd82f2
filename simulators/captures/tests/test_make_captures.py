"""The captures are complete, of the sizes that matter, and made once."""

import json
import subprocess
import tempfile
import unittest
import wave
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "make-captures"
MIB = 1 << 20


def make(target: Path) -> subprocess.CompletedProcess:
    return subprocess.run([SCRIPT, target], capture_output=True, text=True, timeout=120)


class MakeCapturesTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        parent = tempfile.TemporaryDirectory()
        cls.addClassCleanup(parent.cleanup)
        cls.parent = Path(parent.name)
        cls.target = cls.parent / "captures"
        cls.made = make(cls.target)

    def test_each_capture_names_exactly_its_files(self) -> None:
        self.assertEqual((self.made.returncode, self.made.stderr), (0, ""))
        for folder in self.target.glob("*/"):
            with self.subTest(folder.name):
                capture = json.loads((folder / "capture.json").read_text("utf-8"))
                names = {file["name"] for file in capture["files"]}
                self.assertEqual(names | {"capture.json"}, {path.name for path in folder.iterdir()})
                self.assertLessEqual({event["file"] for event in capture["events"] if "file" in event}, names)

    def test_sizes_at_the_limits_of_the_upload_routes(self) -> None:
        sizes = {path.name: path.stat().st_size for path in self.target.glob("*/*")}
        self.assertEqual(sizes["exactly-16-mib.wav"], 16 * MIB)
        self.assertEqual(sizes["one-byte-less-than-16-mib.wav"], 16 * MIB - 1)
        self.assertEqual(sizes["one-byte.wav"], 1)
        self.assertGreater(sizes["interview.wav"], 40 * MIB)
        self.assertNotEqual(sizes["interview.wav"] % (8 * MIB), 0)

    def test_the_files_are_what_they_are_called(self) -> None:
        for path in self.target.glob("*/*.wav"):
            if path.stat().st_size > 1:
                with wave.open(str(path)) as audio:
                    self.assertEqual(len(audio.readframes(audio.getnframes())), audio.getnframes() * 4, path.name)
        for path in self.target.glob("*/*.opus"):
            self.assertIn(b"OpusHead", path.read_bytes()[:64])
        for path in self.target.glob("*/*.jpg"):
            self.assertEqual(path.read_bytes()[6:10], b"Exif")

    def test_a_second_run_leaves_them_alone(self) -> None:
        before = (self.target / "interview" / "interview.wav").stat().st_mtime_ns
        self.assertEqual(make(self.target).returncode, 0)
        self.assertEqual((self.target / "interview" / "interview.wav").stat().st_mtime_ns, before)

    def test_a_folder_of_somebody_else_is_not_touched(self) -> None:
        foreign = self.parent / "foreign"
        foreign.mkdir()
        (foreign / "letter.txt").touch()
        run = make(foreign)
        self.assertEqual(run.returncode, 1)
        self.assertIn("holds other files", run.stderr)
        self.assertTrue((foreign / "letter.txt").exists())
