import Testing

@testable import celestiad

@Suite struct TextTests {
    @Test(arguments: [
        ("plain", 5), ("größe", 5), ("朝の会議", 8), ("🎙️", 2), ("👩‍👩‍👧", 2), ("e\u{301}", 1), ("한글", 4), ("", 0),
        ("🇩🇪", 2), ("ｆｕｌｌ", 8), ("a·b", 3),
    ])
    func widths(_ text: String, _ width: Int) {
        #expect(Text.width(text) == width)
    }

    @Test(arguments: [
        ("\u{1B}[2Jx", "\u{FFFD}[2Jx"), ("a\u{202E}b", "a\u{FFFD}b"),
        ("a\nb\tc\0", "a\u{FFFD}b\u{FFFD}c\u{FFFD}"),
        ("\u{9B}31m", "\u{FFFD}31m"), ("\u{200B}", "\u{FFFD}"), ("\u{2028}", "\u{FFFD}"), ("👩‍👧", "👩‍👧"),
        ("朝", "朝"),
        ("\u{E0001}", "\u{FFFD}"),
    ])
    func nothingThatCommandsATerminalIsLeft(_ text: String, _ clean: String) {
        #expect(Text.clean(text) == clean)
    }

    @Test func longTextIsCut() {
        #expect(Text.clean(String(repeating: "x", count: 300)).count == 201)
        #expect(Text.fit("朝の会議", to: 5) == "朝の…")
        #expect(Text.fit("朝の会議", to: 4) == "朝…")
        #expect(Text.fit("abc", to: 3) == "abc")
        #expect(Text.fit("abc", to: 0) == "")
        #expect(Text.pad("朝", to: 4) == "朝  ")
        #expect(Text.pad("7", to: 3, left: true) == "  7")
    }

    @Test func wrapping() {
        #expect(Text.wrap("one two three", width: 7) == ["one two", "three"])
        #expect(Text.wrap("unbreakable", width: 5) == ["unbre", "akabl", "e"])
        #expect(Text.wrap("a  b unbreakable c", width: 5) == ["a b", "unbre", "akabl", "e c"])
        #expect(Text.wrap("a  b", width: 5) == ["a  b"])
        #expect(Text.wrap("", width: 5) == [""])
        #expect(Text.flow(["a b", "c", "d"], separator: " · ", width: 7) == ["a b · c", "d"])
        #expect(Text.ascii("█░→·…ü") == "#.->-...?")
    }

    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (16_777_215, "15.9 MiB"),
            (16_777_216, "16.0 MiB"), (104_857_600, "100 MiB"), (Int64.max, "8388607 TiB"),
        ] as [(Int64, String)])
    func bytes(_ count: Int64, _ text: String) {
        #expect(Units.bytes(count) == text)
    }

    @Test(
        arguments: [
            (0, "0 s"), (59, "59 s"), (60, "1 min"), (130, "2 min 10 s"), (3599, "59 min"), (3600, "1 h"),
            (7380, "2 h 3 min"), (86_400, "1 d"), (-5, "0 s"),
        ] as [(Int64, String)])
    func durations(_ seconds: Int64, _ text: String) {
        #expect(Units.duration(seconds) == text)
    }

    @Test func otherNumbers() {
        #expect(Units.playingTime(milliseconds: 1_925_000) == "32:05")
        #expect(Units.playingTime(milliseconds: 3_723_000) == "1:02:03")
        #expect(Units.percent(1, of: 3) == 33)
        #expect(Units.percent(.max, of: .max) == 100)
        #expect(Units.percent(5, of: 0) == 0)
        #expect(Units.count(1, "file") == "1 file")
        #expect(Units.count(2, "file") == "2 files")
    }
}
