package import CaptureQueue

/// Which files fit the storage that the server has left, less what other sessions are about to use of it (C-73, C-74).
/// Pure.
package struct QuotaLedger: Sendable, Equatable {
    package enum Verdict: Sendable, Equatable {
        case fits
        /// More than the account has left: only the user can change that.
        case exceeds
        /// It will be known when others are done.
        case afterOthers
    }

    private var reserved: [AssetID: Int64] = [:]

    package init() {}

    /// Reserves `bytes` for an asset if they fit. `remaining` nil: the server does not say, and decides by itself.
    package mutating func reserve(_ asset: AssetID, bytes: Int64, remaining: Int64?) -> Verdict {
        guard let remaining else { return .fits }
        guard bytes <= remaining else { return .exceeds }
        let others = reserved.filter { $0.key != asset }.values.reduce(Int64(0)) { sum, value in
            let (total, overflow) = sum.addingReportingOverflow(value)
            return overflow ? .max : total
        }
        guard bytes <= remaining.subtractingReportingOverflow(others).partialValue else {
            return .afterOthers
        }
        reserved[asset] = bytes
        return .fits
    }

    /// The asset is sent, or given up for now.
    package mutating func release(_ asset: AssetID) {
        reserved[asset] = nil
    }
}
