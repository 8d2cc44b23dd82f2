package import RecorderModel

/// Whose behaviour is shown where versions of bluetoothd differ.
package enum BlueZVersion: String, Sendable, Hashable, CaseIterable {
    /// Debian 12.
    case debian12 = "5.66"
    /// Debian 13.
    case debian13 = "5.82"
}

/// One simulated recorder within radio range.
package struct PeripheralConfiguration: Sendable {
    package var recorder: RecorderConfiguration
    /// Six bytes, upper-case, with colons.
    package var address: String
    /// `public` or `random`.
    package var addressType = "public"
    package var name: String
    package var confirmation = RecorderConfirmation.automatic
    /// The number that the recorder shows; a new one each time when nil.
    package var passkey: UInt32?
    package var mtu: UInt16 = 247

    package init(recorder: RecorderConfiguration, address: String, name: String) {
        self.recorder = recorder
        self.address = address
        self.name = name
    }
}

/// What the simulated bluetoothd and its surroundings are like.
package struct FakeBlueZConfiguration: Sendable {
    /// One Bluetooth controller.
    package struct Adapter: Sendable, Hashable {
        /// Its name, such as hci0.
        package var name: String
        package var address: String

        package init(name: String, address: String) {
            self.name = name
            self.address = address
        }
    }

    /// How long things take.
    package struct Timing: Sendable, Hashable {
        package var advertisement = Duration.milliseconds(100)
        package var connect = Duration.milliseconds(20)
        /// How long Connect tries to reach a device that is not there.
        package var connectTimeout = Duration.seconds(20)
        package var resolve = Duration.milliseconds(20)
        /// How long Pair of BlueZ 5.66 stalls on a device that is bonded already.
        package var pageTimeout = Duration.seconds(5)
        /// How long a device that is no longer seen, and was never used, is kept.
        package var temporary = Duration.seconds(30)

        package init() {}
    }

    package var busAddress: String
    package var adapters = [Adapter(name: "hci0", address: "00:1A:7D:DA:71:13")]
    package var version = BlueZVersion.debian12
    package var timing = Timing()
    package var peripherals: [PeripheralConfiguration]

    package init(busAddress: String, peripherals: [PeripheralConfiguration]) {
        self.busAddress = busAddress
        self.peripherals = peripherals
    }
}
