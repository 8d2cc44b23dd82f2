/// An attribute protocol error (Core Specification, Vol 3, Part F, 3.4.1.1; 0x80 and above are of OTS).
package struct ATTError: Error, Sendable, Hashable {
    /// The error code as it goes over the air.
    package let code: UInt8

    package init(code: UInt8) {
        self.code = code
    }

    package static let readNotPermitted = ATTError(code: 0x02)
    package static let writeNotPermitted = ATTError(code: 0x03)
    package static let insufficientAuthentication = ATTError(code: 0x05)
    package static let requestNotSupported = ATTError(code: 0x06)
    package static let attributeNotFound = ATTError(code: 0x0A)
    package static let invalidLength = ATTError(code: 0x0D)
    package static let unlikely = ATTError(code: 0x0E)
    package static let insufficientEncryption = ATTError(code: 0x0F)
    package static let writeRequestRejected = ATTError(code: 0x80)
    package static let objectNotSelected = ATTError(code: 0x81)
    package static let subscriptionMissing = ATTError(code: 0xFD)
    package static let procedureInProgress = ATTError(code: 0xFE)
    package static let outOfRange = ATTError(code: 0xFF)
}

/// How well a link is protected, weakest first.
package enum LinkSecurity: Int, Sendable, Hashable, Comparable, Codable {
    /// Nothing: the devices are not paired, or have not started encryption.
    case open
    /// Encrypted after Just Works: nobody has compared anything.
    case encrypted
    /// Encrypted after numeric comparison or passkey entry.
    case authenticated

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
