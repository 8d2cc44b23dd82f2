internal import ObjectTransfer

/// A moment in UTC by calendar (proleptic Gregorian), from seconds since 1970.
struct CivilDate: Sendable, Hashable {
    let year: Int64
    let month: Int64
    let day: Int64
    let secondOfDay: Int64

    init(unixSeconds: Int64) {
        let (days, second) = unixSeconds.flooredQuotientAndRemainder(by: 86_400)
        secondOfDay = second
        // Years that begin in March put the leap day last; 400 of them are an era of 146,097 days.
        let (era, dayOfEra) = (days + 719_468).flooredQuotientAndRemainder(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The form of OTS; a year that it cannot express is "unknown".
    var objectDate: ObjectDate {
        ObjectDate(
            year: UInt16(exactly: year) ?? 0, month: UInt8(month), day: UInt8(day),
            hour: UInt8(secondOfDay / 3600), minute: UInt8(secondOfDay / 60 % 60),
            second: UInt8(secondOfDay % 60))
    }

    /// The RFC 3339 form in UTC.
    var text: String {
        func padded(_ value: Int64, _ width: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let time = [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60].map { padded($0, 2) }
        return "\(date)T\(time.joined(separator: ":"))Z"
    }
}

extension Int64 {
    fileprivate func flooredQuotientAndRemainder(by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
