import EventLoop
import Foundation
import Gateway
import TestSupport
import Testing

/// The bandwidth limit over the week.
@Suite struct RateTimetableTests {
    /// Minutes from Monday 00:00 by a day's number, 0 for Monday, and the time.
    private static func at(_ day: Int, _ hour: Int, _ minute: Int = 0) -> Int {
        RateTimetable.minute(weekday: (day + 1) % 7, hour: hour, minute: minute)
    }

    private static let (kib, mib): (Int64, Int64) = (1 << 10, 1 << 20)

    @Test(
        arguments: [
            ("off", nil), ("OFF", nil), ("512K", 512 << 10), ("512k", 512 << 10), ("512", 512 << 10),
            ("10M", 10 << 20),
            ("1G", 1 << 30), ("65536B", 65_536), ("16K", 16 << 10), ("1024G", 1 << 40),
        ] as [(String, Int64?)])
    func oneRateHoldsAllWeek(_ text: String, _ rate: Int64?) throws {
        let table = try #require(RateTimetable(text))
        #expect(table.isConstant)
        #expect(table.slowest == rate)
        for day in 0..<7 { #expect(table.rate(at: Self.at(day, 3 * day)) == rate) }
    }

    @Test(arguments: [
        "", " ", "fast", "15K", "1025G", "-5M", "1.5M", "0", "9999999999999G", "08:00", "08:00,", ",512K",
        "08:00 512K",
        "24:00,512K", "08:60,512K", "8:00,512K", "08:0,512K", "Foo-08:00,512K", "Mon-,512K", "-08:00,512K",
        "Mon-Tue-08:00,512K", "08:00,512K,1M", "08:00,512K 08:00,1M", "08:00,512K Tue-08:00,1M", "512K 1M",
        "08:00,512K;",
        "٠٨:00,512K", String(repeating: "00:00,off ", count: 65),
    ])
    func whatIsNotOfTheGrammarIsRefused(_ text: String) {
        #expect(RateTimetable(text) == nil)
        #expect(RateTimetable.problem(with: text) != nil)
    }

    @Test(arguments: [
        ("08:00,512K 25:00,1M", "its entry 25:00,1M has no time of a day"),
        ("08:00,512K Sat-09:00,quick", "its entry Sat-09:00,quick has no rate that can be"),
        ("08:00,512K Tue-08:00,1M", "its entry Tue-08:00,1M begins when another does"),
        ("08:00,512K,1", "its entry 08:00,512K,1 is not TIME,RATE"), ("fast", "it is no rate"),
    ])
    func theEntryThatIsWrongIsNamed(_ text: String, _ problem: String) {
        #expect(RateTimetable.problem(with: text) == problem)
    }

    /// The example of rclone's documentation: slow by day, a little faster at noon, without limit at night.
    @Test(
        arguments: [
            (0, 0, 30 * mib), (7, 59, 30 * mib), (8, 0, 512 * kib), (11, 59, 512 * kib), (12, 0, 10 * mib),
            (13, 0, 512 * kib), (18, 0, 30 * mib), (22, 59, 30 * mib), (23, 0, nil), (23, 59, nil),
        ] as [(Int, Int, Int64?)])
    func eachEntryHoldsUntilTheNext(_ hour: Int, _ minute: Int, _ rate: Int64?) throws {
        let table = try #require(
            RateTimetable("00:00,30M 08:00,512K 12:00,10M 13:00,512K 18:00,30M 23:00,off"))
        for day in 0..<7 { #expect(table.rate(at: Self.at(day, hour, minute)) == rate) }
        #expect(!table.isConstant)
        #expect(table.slowest == 512 * Self.kib)
    }

    /// Over midnight, and from the week's last entry into the next week.
    @Test(
        arguments: [
            (0, 0, 0, 512), (0, 5, 59, 512), (4, 23, 58, 512), (4, 23, 59, 10_240), (5, 9, 59, 10_240),
            (5, 10, 0, 1024),
            (6, 19, 59, 1024), (6, 20, 0, 512), (6, 23, 59, 512),
        ] as [(Int, Int, Int, Int64)])
    func daysAreNamed(_ day: Int, _ hour: Int, _ minute: Int, _ kib: Int64) throws {
        let table = try #require(RateTimetable("fri-23:59,10M  Sat-10:00,1M\tSun-20:00,512K"))
        #expect(table.rate(at: Self.at(day, hour, minute)) == kib << 10)
    }

    @Test func anEveningEntryHoldsOverMidnight() throws {
        let table = try #require(RateTimetable("06:00,256K 22:00,off"))
        #expect(table.rate(at: Self.at(2, 21, 59)) == 256 << 10)
        #expect(table.rate(at: Self.at(2, 22)) == .some(nil))
        #expect(table.rate(at: Self.at(3, 0)) == .some(nil))
        #expect(table.rate(at: Self.at(3, 5, 59)) == .some(nil))
        #expect(table.rate(at: Self.at(3, 6)) == 256 << 10)
    }

    /// An hour that the clock skips, or shows twice, needs no rule: what counts is what it shows. Europe/Berlin, 2026.
    @Test(
        arguments: [
            // 02:00 becomes 03:00 on March 29: the entry of 02:30 holds from 03:00.
            ("2026-03-29T00:59:00Z", nil), ("2026-03-29T01:00:00Z", 1 << 20),
            ("2026-03-29T01:59:00Z", 1 << 20),
            ("2026-03-29T02:00:00Z", 64 << 10),
            // 03:00 becomes 02:00 on October 25: 02:30 comes twice, and before it what held before.
            ("2026-10-25T00:29:00Z", nil), ("2026-10-25T00:30:00Z", 1 << 20), ("2026-10-25T01:00:00Z", nil),
            ("2026-10-25T01:30:00Z", 1 << 20), ("2026-10-25T03:00:00Z", 64 << 10),
        ] as [(String, Int64?)])
    func theClockOnTheWallCounts(_ text: String, _ rate: Int64?) throws {
        let table = try #require(RateTimetable("02:30,1M 04:00,64K 20:00,off"))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "Europe/Berlin"))
        let date = try #require(ISO8601DateFormatter().date(from: text))
        let parts = calendar.dateComponents([.weekday, .hour, .minute], from: date)
        let minute = RateTimetable.minute(
            weekday: (parts.weekday ?? 1) - 1, hour: parts.hour ?? 0, minute: parts.minute ?? 0)
        #expect(table.rate(at: minute) == rate)
    }

    @Test func thisMachinesClockIsRead() {
        let date = Date(timeIntervalSince1970: 1_784_888_430)
        let parts = Calendar(identifier: .gregorian).dateComponents([.weekday, .hour, .minute], from: date)
        #expect(
            RateTimetable.minute(of: date)
                == RateTimetable.minute(
                    weekday: (parts.weekday ?? 1) - 1, hour: parts.hour ?? 0, minute: parts.minute ?? 0))
    }

    /// Each change is told once, on the minute; between them nothing is.
    @Test func thePacerFollowsTheTable() async throws {
        let table = try #require(RateTimetable("00:01,1M 00:03,off"))
        let clock = Locked(Date(timeIntervalSince1970: 7))
        let (told, rests, lines) = (Locked<[Int64?]>([]), Locked<[Duration]>([]), Lines())
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await UploadPacer(
                    timetable: table, log: Log(level: .info) { lines.append($1) },
                    now: { clock.withLock { $0 } },
                    minute: { Int($0.timeIntervalSince1970) / 60 },
                    sleep: { rest in
                        rests.withLock { $0.append(rest) }
                        clock.withLock { $0 += rest / .seconds(1) }
                        if clock.withLock({ $0.timeIntervalSince1970 }) > 300 {
                            withUnsafeCurrentTask { $0?.cancel() }
                        }
                    }, apply: { rate in told.withLock { $0.append(rate) } }
                ).run()
            }
        }
        #expect(told.withLock { $0 } == [nil, 1 << 20, nil])
        #expect(rests.withLock { $0 } == [.seconds(53)] + Array(repeating: .seconds(60), count: 5))
        #expect(lines.all == ["uploads are held to 1024 KiB/s", "uploads are not limited"])
    }
}
