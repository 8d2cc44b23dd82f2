/// The OTS Feature characteristic (OTS 3.1); unknown bits are kept.
package struct ObjectTransferFeatures: Sendable, Hashable {
    /// What the Object Action Control Point can do.
    package struct Actions: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        package static let create = Actions(rawValue: 1 << 0)
        package static let delete = Actions(rawValue: 1 << 1)
        package static let calculateChecksum = Actions(rawValue: 1 << 2)
        package static let execute = Actions(rawValue: 1 << 3)
        package static let read = Actions(rawValue: 1 << 4)
        package static let write = Actions(rawValue: 1 << 5)
        package static let append = Actions(rawValue: 1 << 6)
        package static let truncate = Actions(rawValue: 1 << 7)
        package static let patch = Actions(rawValue: 1 << 8)
        package static let abort = Actions(rawValue: 1 << 9)
    }

    /// What the Object List Control Point can do beyond First, Last, Previous and Next.
    package struct Lists: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        package static let goTo = Lists(rawValue: 1 << 0)
        package static let order = Lists(rawValue: 1 << 1)
        package static let requestNumberOfObjects = Lists(rawValue: 1 << 2)
        package static let clearMarking = Lists(rawValue: 1 << 3)
    }

    /// What the Object Action Control Point can do.
    package var actions: Actions
    /// What the Object List Control Point can do.
    package var lists: Lists

    /// Features with these two sets.
    package init(actions: Actions, lists: Lists) {
        self.actions = actions
        self.lists = lists
    }

    /// The eight bytes of the characteristic.
    package var wire: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: actions.rawValue)
        bytes.append(littleEndian: lists.rawValue)
        return bytes
    }

    /// Reads the characteristic; bytes after the eighth are ignored.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        actions = Actions(rawValue: try reader.u32())
        lists = Lists(rawValue: try reader.u32())
    }
}
