internal import Dates
internal import ObjectTransfer

extension ObjectDate {
    /// A moment in UTC, from seconds since 1970.
    init(unixSeconds: Int64) {
        let time = CivilTime.fields(at: unixSeconds)
        self.init(
            year: UInt16(time.year), month: UInt8(time.month), day: UInt8(time.day), hour: UInt8(time.hour),
            minute: UInt8(time.minute), second: UInt8(time.second))
    }
}
