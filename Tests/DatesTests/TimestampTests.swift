import Dates
import Testing

@Suite struct TimestampTests {
    @Test(arguments: [
        ("2026-07-24T10:20:30Z", Int64(1_784_888_430_000)),
        ("2026-07-24T10:20:30.5Z", 1_784_888_430_500),
        ("2026-07-24t10:20:30.123456789123z", 1_784_888_430_123),
        ("2026-07-24 12:20:30.1+02:00", 1_784_888_430_100),
        ("2026-07-24T04:50:30-05:30", 1_784_888_430_000),
        ("2026-12-31T23:59:60Z", 1_798_761_599_999),
        ("1969-12-31T23:59:59.999Z", -1),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000),
    ])
    func everyFormOfATimeIsRead(text: String, milliseconds: Int64) {
        #expect(Timestamp(text)?.millisecondsSince1970 == milliseconds)
    }

    @Test(arguments: [
        "", "2026-07-24", "2026-07-24T10:20:30", "2026-07-24T10:20:30.Z", "2026-7-24T10:20:30Z",
        "2026-02-30T10:20:30Z", "2026-07-24T24:00:00Z", "2026-07-24T10:20:61Z", "2026-07-24T10:20:30+2:00",
        "2026-07-24T10:20:30ZZ", "2026-07-24T10:20:30+99:00", "٢٠٢٦-07-24T10:20:30Z",
    ])
    func otherTextsAreNoTimes(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test(arguments: [
        (Int64(1_784_888_430_500), "2026-07-24T10:20:30.500Z"), (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ])
    func oneFormOfATimeIsEmitted(milliseconds: Int64, text: String) {
        #expect(Timestamp(millisecondsSince1970: milliseconds).description == text)
        #expect(Timestamp(text)?.millisecondsSince1970 == milliseconds)
    }

    @Test func timesThatAServerRoundedAreTheSame() {
        let ours = Timestamp(millisecondsSince1970: 1_784_888_430_987)
        #expect(ours.isClose(to: Timestamp(secondsSince1970: 1_784_888_430)))
        #expect(ours.isClose(to: Timestamp(secondsSince1970: 1_784_888_431)))
        #expect(!ours.isClose(to: Timestamp(secondsSince1970: 1_784_888_432)))
        #expect(!Timestamp(secondsSince1970: .min).isClose(to: Timestamp(secondsSince1970: .max)))
    }

    static let times: [(String, Int64?, Int32)] = [
        ("1970-01-01T00:00:00Z", 0, 0),
        ("2026-11-30T04:59:00Z", 1_796_014_740, 0),
        ("2026-11-30T05:59:00.5+01:00", 1_796_014_740, 500_000_000),
        ("2026-11-30T01:29:00.123456789-03:30", 1_796_014_740, 123_456_789),
        ("2024-02-29T00:00:00Z", 1_709_164_800, 0),
        ("2000-02-29T23:59:60Z", 951_868_799, 999_000_000),
        ("0000-01-01T00:00:00Z", -62_167_219_200, 0),
        ("9999-12-31T23:59:59Z", 253_402_300_799, 0),
        ("2026-11-30t04:59:00z", 1_796_014_740, 0),
        ("2026-02-29T00:00:00Z", nil, 0), ("1900-02-29T00:00:00Z", nil, 0), ("2026-13-01T00:00:00Z", nil, 0),
        ("2026-00-01T00:00:00Z", nil, 0), ("2026-01-00T00:00:00Z", nil, 0), ("2026-11-31T00:00:00Z", nil, 0),
        ("2026-11-30T24:00:00Z", nil, 0), ("2026-11-30T00:60:00Z", nil, 0), ("2026-11-30T00:00:61Z", nil, 0),
        ("2026-11-30T00:00:00", nil, 0), ("2026-11-30T00:00:00.Z", nil, 0),
        ("2026-11-30T00:00:00Z ", nil, 0),
        ("2026-11-30", nil, 0), ("", nil, 0), ("2026-11-30T00:00:00+24:00", nil, 0),
        ("+026-11-30T00:00:00Z", nil, 0), ("２026-11-30T00:00:00Z", nil, 0),
    ]

    @Test(arguments: times)
    func everyFieldIsChecked(text: String, seconds: Int64?, nanoseconds: Int32) {
        let time = Timestamp(text)
        #expect(time?.secondsSince1970 == seconds)
        #expect(time?.nanoseconds ?? 0 == nanoseconds)
    }

    @Test(arguments: [
        Int64(-62_167_219_200), -1, 0, 951_782_400, 951_868_799, 1_835_481_599, 253_402_300_799,
    ])
    func civilTimeGoesBothWays(seconds: Int64) {
        let time = CivilTime.fields(at: seconds)
        #expect(
            CivilTime.seconds(
                year: time.year, month: time.month, day: time.day, hour: time.hour, minute: time.minute,
                second: time.second) == seconds)
    }
}
