import Control
import Gateway
import Testing

@testable import celestiad

/// From the kernel up to bluetoothd.
extension DoctorRuleTests {
    private static let unplugged = DoctorFacts.sound.radio { $0.controllers = [] }.bluez { $0.adapters = [] }

    /// An adapter that is not there, and where it is named.
    private static func adapterSet(_ origin: String) -> DoctorFacts {
        .sound.with {
            let address = "AA:BB:CC:DD:EE:FF"
            var configuration = Configuration()
            configuration.adapter = address
            $0.configuration = .found(configuration)
            $0.settings = [
                ConfigurationSetting(
                    section: "Bluetooth", name: "Adapter", value: address, origin: origin, isPrivate: false)
            ]
        }
    }

    static let radio = [
        Case("no adapter", unplugged, .adapter, .fail, "sudo journalctl -k", says: "no Bluetooth adapter"),
        Case(
            "no adapter on a Raspberry Pi",
            unplugged.radio { $0.board = "Raspberry Pi 4 Model B Rev 1.5" }, .adapter, .fail,
            "sudo apt-get install pi-bluetooth", says: "this board's own"),
        Case(
            "no adapter, and nobody to ask", unplugged.with { $0.bluez = .blind("no bus") }, .adapter, .fail,
            says: "no Bluetooth adapter"),
        Case(
            "no Bluetooth in the kernel", unplugged.radio { $0.hasBluetooth = false }, .adapter, .fail,
            "sudo modprobe btusb"),
        Case(
            "container without radio", unplugged.radio { $0.container = "docker" }, .adapter, .fail,
            says: "(docker)"),
        Case(
            "bluetoothd passes it over", .sound.bluez { $0.adapters = [] }, .adapter, .fail,
            "sudo systemctl restart bluetooth"),
        Case(
            "off", .sound.bluez { $0.adapters[0].isPowered = false }, .adapter, .fail, "bluetoothctl power on"
        ),
        Case(
            "one of two off",
            .sound.bluez {
                $0.adapters.append(.init(name: "hci1", address: "00:11:22:33:44:66", isPowered: false))
            },
            .adapter, .warn, "busctl set-property org.bluez /org/bluez/hci1 org.bluez.Adapter1 Powered b true"
        ),
        Case(
            "blocked",
            .sound.bluez {
                $0.adapters[0].isPowered = false
                $0.adapters[0].powerState = "off-blocked"
            }, .adapter, .fail, "sudo rfkill unblock bluetooth"),
        Case(
            "no address", .sound.bluez { $0.adapters[0].address = "00:00:00:00:00:00" }, .adapter, .fail,
            "sudo journalctl -k"),
        Case(
            "no LE", .sound.bluez { $0.adapters[0].roles = [] }, .adapter, .fail,
            says: "no Bluetooth Low Energy"),
        Case(
            "another is configured", adapterSet("/etc/celestiad/celestiad.conf.d/my own.conf:3"), .adapter,
            .fail,
            "sudoedit '/etc/celestiad/celestiad.conf.d/my own.conf'",
            says: "AA:BB:CC:DD:EE:FF ([Bluetooth] Adapter) is not there; there is 00:11:22:33:44:55"),
        Case(
            "another is configured by a variable", adapterSet("CELESTIAD_ADAPTER"), .adapter, .fail,
            "sudo systemctl edit celestiad"),
        Case(
            "bluetoothd cannot be asked", .sound.with { $0.bluez = .blind("no bus") }, .adapter, .skipped,
            says: "hci0"),
        Case(
            "soft block", .sound.radio { $0.switches?[0].isSoftBlocked = true }, .rfkill, .fail,
            "sudo rfkill unblock bluetooth"),
        Case(
            "soft block without rfkill(8)",
            .sound.radio { $0.switches?[0].isSoftBlocked = true }.with { $0.tools.hasRFKill = false },
            .rfkill, .fail,
            "echo 0 | sudo tee /sys/class/rfkill/rfkill0/soft"),
        Case(
            "hard block", .sound.radio { $0.switches?[0].isHardBlocked = true }, .rfkill, .fail,
            says: "firmware"),
        Case("no rfkill", .sound.radio { $0.switches = nil }, .rfkill, .skipped),
        Case(
            "may sleep", .sound.radio { $0.controllers[0].usb?.control = "auto" }, .autosuspend, .warn,
            "sudo udevadm control --reload"),
        Case(
            "may sleep, no rule",
            .sound.radio {
                $0.controllers[0].usb?.control = "auto"
                $0.hasRules = false
            }, .autosuspend, .warn, "echo on | sudo tee /sys/bus/usb/devices/1-1/power/control"),
        Case("not on USB", .sound.radio { $0.controllers[0].usb = nil }, .autosuspend, .ok, says: "hci0"),
        Case("nothing to suspend", unplugged, .autosuspend, .skipped),
        Case(
            "blocked, and no rfkill(8)",
            .sound.bluez {
                $0.adapters[0].isPowered = false
                $0.adapters[0].powerState = "off-blocked"
            }.radio { $0.switches = [.init(name: "rfkill3", isSoftBlocked: true)] }
                .with { $0.tools.hasRFKill = false }, .adapter, .fail,
            "echo 0 | sudo tee /sys/class/rfkill/rfkill3/soft"),
        Case(
            "only the daemon has none",
            .sound.status { $0.daemon.bluetoothSockets = false }, .namespace, .warn,
            "systemctl cat celestiad",
            says: "the slow way"),
        Case(
            "only this program has none",
            .sound.status { $0.daemon.bluetoothSockets = true }.radio { $0.hasSockets = false }, .namespace,
            .ok,
            says: "the daemon"),
        Case("no sockets", .sound.radio { $0.hasSockets = false }, .namespace, .warn, says: "the slow way"),
        Case("no sockets, no adapter", unplugged.radio { $0.hasSockets = false }, .namespace, .skipped),
    ]

    static let bluetoothd = [
        Case(
            "not running", .sound.bluez { $0.isRunning = false }, .bluetoothd, .fail,
            "sudo systemctl start bluetooth"),
        Case(
            "not installed", .sound.bluez { $0.isRunning = false }.bluetoothUnit { $0.load = "not-found" },
            .bluetoothd,
            .fail, "sudo apt-get install bluez"),
        Case(
            "masked", .sound.bluez { $0.isRunning = false }.bluetoothUnit { $0.load = "masked" }, .bluetoothd,
            .fail,
            "sudo systemctl unmask bluetooth"),
        Case(
            "failed", .sound.bluez { $0.isRunning = false }.bluetoothUnit { $0.active = "failed" },
            .bluetoothd, .fail,
            "sudo systemctl restart bluetooth"),
        Case(
            "skipped at boot",
            .sound.bluez { $0.isRunning = false }.bluetoothUnit {
                $0.active = "inactive"
                $0.conditionsMet = false
            }, .bluetoothd, .fail, "sudo systemctl start bluetooth", says: "no adapter then"),
        Case(
            "answers nothing", .sound.bluez { $0.refusal = "Access denied" }, .bluetoothd, .fail,
            "sudo systemctl restart bluetooth"),
        Case("unknown version", .sound.bluez { $0.version = nil }, .bluetoothd, .skipped),
        Case(
            "confirms no indications", .sound.bluez { $0.version = "5.68-2" }, .bluetoothd, .fail,
            "sudo apt-get update",
            says: "do not confirm indications"),
        Case("old", .sound.bluez { $0.version = "5.55-3" }, .bluetoothd, .warn, "sudo apt-get update"),
        Case(
            "stays down after a crash",
            .sound.bluez { $0.version = "5.66-1+deb12u2" }.bluetoothUnit { $0.restart = "no" }, .bluetoothd,
            .warn,
            "sudo mkdir -p /etc/systemd/system/bluetooth.service.d"),
        Case(
            "Debian 12, mended", .sound.bluez { $0.version = "5.66-1+deb12u2" }, .bluetoothd, .ok,
            says: "#1376"),
        Case("Debian 13", .sound.bluez { $0.version = "5.82-1.1" }, .bluetoothd, .ok, says: "works around"),
    ]
}
