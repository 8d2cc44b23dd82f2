/// What the kernel tells of the machine's network, as far as it may bring a connection back (rtnetlink(7)).
package enum NetworkChange: Sendable, Equatable {
    /// An interface carries, or does not any more.
    case link(index: Int32, isRunning: Bool)
    /// An address of global scope can be used.
    case address
    /// A route to beyond a gateway is there.
    case route
    /// The kernel had more to tell than was read.
    case overrun
}

/// Reads the kernel's messages. Bounded by what came in: a message that claims more than is there ends the reading.
package enum NetlinkMessages {
    private static let headerLength = 16
    /// RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_NEWROUTE, NLMSG_OVERRUN.
    private static let (newLink, deletedLink, newAddress, newRoute, overrun):
        (UInt16, UInt16, UInt16, UInt16, UInt16) =
            (16, 17, 20, 24, 4)
    private static let (loopback, running): (UInt32, UInt32) = (0x8, 0x40)
    private static let tentative: UInt8 = 0x40
    private static let (universe, unicast, mainTable): (UInt8, UInt8, UInt8) = (0, 1, 254)

    package static func changes(in bytes: [UInt8]) -> [NetworkChange] {
        bytes.withUnsafeBytes { all in
            var changes: [NetworkChange] = []
            var rest = all[...]
            while rest.count >= headerLength {
                let message = UnsafeRawBufferPointer(rebasing: rest)
                let length = Int(message.loadUnaligned(as: UInt32.self))
                guard length >= headerLength, length <= message.count else { break }
                let type = message.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
                let body = UnsafeRawBufferPointer(rebasing: message[headerLength..<length])
                if let change = change(type, body) { changes.append(change) }
                rest = rest.dropFirst((length + 3) & ~3)
            }
            return changes
        }
    }

    private static func change(_ type: UInt16, _ body: UnsafeRawBufferPointer) -> NetworkChange? {
        switch type {
        case newLink, deletedLink:
            // struct ifinfomsg
            guard body.count >= 16 else { return nil }
            let flags = body.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
            guard flags & loopback == 0 else { return nil }
            return .link(
                index: body.loadUnaligned(fromByteOffset: 4, as: Int32.self),
                isRunning: type == newLink && flags & running != 0)
        case newAddress:
            // struct ifaddrmsg; a tentative address is told once more when it can be used.
            guard body.count >= 8, body[3] == universe, body[2] & tentative == 0 else { return nil }
            return .address
        case newRoute:
            // struct rtmsg
            guard body.count >= 12, body[4] == mainTable, body[6] == universe, body[7] == unicast else {
                return nil
            }
            return .route
        case overrun: return .overrun
        default: return nil
        }
    }
}
