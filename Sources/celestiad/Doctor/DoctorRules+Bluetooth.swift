import Control
import Gateway

/// The radio, from the kernel up to bluetoothd.
extension DoctorRules {
    // MARK: bluetoothd

    static func bluetoothd(_ facts: DoctorFacts) -> [Finding] {
        switch facts.bluez {
        case .blind(let reason): return [Finding(.bluetoothd, .skipped, reason)]
        case .found(let bluez):
            guard bluez.isRunning else { return [notRunning(facts)] }
            if let refusal = bluez.refusal {
                return [
                    Finding(
                        .bluetoothd, .fail, "bluetoothd does not answer: \(refusal)",
                        fix: ["sudo systemctl restart bluetooth"])
                ]
            }
            return version(bluez, facts.bluetoothService.value)
        }
    }

    private static func notRunning(_ facts: DoctorFacts) -> Finding {
        let unit = facts.bluetoothService.value
        switch (unit?.load, unit?.active) {
        case ("not-found", _):
            return Finding(
                .bluetoothd, .fail, "bluetoothd is not installed", fix: ["sudo apt-get install bluez"])
        case ("masked", _):
            return Finding(
                .bluetoothd, .fail, "bluetoothd is masked",
                fix: ["sudo systemctl unmask bluetooth", "sudo systemctl start bluetooth"])
        case (_, "failed"):
            return Finding(
                .bluetoothd, .fail, "bluetoothd has failed (\(unit?.result ?? "unknown"))",
                fix: ["sudo systemctl restart bluetooth", "sudo journalctl -u bluetooth -n 50"])
        case (_, "inactive") where unit?.conditionsMet == false:
            // The unit is skipped at boot when the kernel has no controller yet, and nothing tries again.
            return Finding(
                .bluetoothd, .fail, "bluetoothd was not started, because there was no adapter then",
                fix: ["sudo systemctl start bluetooth"])
        default:
            return Finding(
                .bluetoothd, .fail, "bluetoothd is not running", fix: ["sudo systemctl start bluetooth"])
        }
    }

    private static func version(_ bluez: BlueZFacts, _ unit: UnitFacts?) -> [Finding] {
        guard let text = bluez.version, let version = BluetoothdVersion(text) else {
            return [
                Finding(.bluetoothd, .ok, "bluetoothd runs"),
                Finding(
                    .bluetoothd, .skipped, "its version is not known: it is not Debian's package bluez"),
            ]
        }
        let faults = BluetoothdFault.all.filter { $0.concerns(version) }
        let grave = faults.filter(\.isGrave).map {
            Finding(
                .bluetoothd, .fail, "bluetoothd \(text): \($0.text)",
                fix: ["sudo apt-get update", "sudo apt-get install --only-upgrade bluez"])
        }
        var findings = grave
        if version < BluetoothdVersion.oldestTested {
            findings.append(
                Finding(
                    .bluetoothd, .warn,
                    "bluetoothd \(text) is older than what celestiad is tested with (\(BluetoothdVersion.oldestTested))",
                    fix: ["sudo apt-get update", "sudo apt-get install --only-upgrade bluez"]))
        }
        // One that ends stays so, and with it everything that recorders are reached by.
        if unit?.restart == "no", faults.contains(where: \.mayEndIt) {
            findings.append(
                Finding(
                    .bluetoothd, .warn,
                    "bluetoothd \(text) may crash when a link ends at the wrong moment, and nothing starts it again",
                    fix: dropIn("bluetooth", "restart", "Restart=on-failure")))
        }
        if findings.isEmpty { findings.append(Finding(.bluetoothd, .ok, "bluetoothd \(text) runs")) }
        let minor = faults.filter { !$0.isGrave }
        if !minor.isEmpty, findings.allSatisfy({ $0.state == .ok }) {
            findings[0].text +=
                "; celestiad works around its known faults: " + minor.map(\.text).joined(separator: "; ")
        }
        return findings
    }

    // MARK: Adapters

    static func adapter(_ facts: DoctorFacts) -> [Finding] {
        let controllers = facts.radio.value?.controllers ?? []
        guard case .found(let bluez) = facts.bluez, bluez.isRunning, bluez.refusal == nil else {
            guard controllers.isEmpty else {
                let names = controllers.map(\.name).joined(separator: ", ")
                return [
                    Finding(
                        .adapter, .skipped, "the kernel has \(names); whether it is on is bluetoothd's to say"
                    )
                ]
            }
            guard case .found(let radio) = facts.radio else {
                return [Finding(.adapter, .skipped, "neither the kernel nor bluetoothd could be asked")]
            }
            return [noAdapter(radio)]
        }
        guard !bluez.adapters.isEmpty else {
            guard let first = controllers.first else { return [noAdapter(facts.radio.value)] }
            return [
                Finding(
                    .adapter, .fail, "the kernel has \(first.name), and bluetoothd does not know it",
                    fix: ["sudo systemctl restart bluetooth"])
            ]
        }
        let wanted = facts.configuration.value?.adapter
        let usable = bluez.adapters.filter { wanted == nil || $0.address.uppercased() == wanted }
        guard !usable.isEmpty else {
            let present = bluez.adapters.map(\.address).joined(separator: ", ")
            return [
                Finding(
                    .adapter, .fail,
                    AdapterTrouble.absent(configured: wanted).text + "; there is \(present)",
                    advice: "plug it in again; or change that setting (left empty, any adapter is used):",
                    fix: change("Bluetooth", "Adapter", facts))
            ]
        }
        let findings = usable.map { state(of: $0, among: bluez.adapters, facts) }
        // One that works is enough; that another is off is worth a word.
        guard findings.contains(where: { $0.state == .ok }) else { return findings }
        return findings.map { finding in
            var finding = finding
            if finding.state == .fail { finding.state = .warn }
            return finding
        }
    }

    private static func noAdapter(_ radio: RadioFacts?) -> Finding {
        if let container = radio?.container {
            return Finding(
                .adapter, .fail, "there is no Bluetooth adapter in this container (\(container))",
                advice:
                    "let it have the host's network and message bus: docker run --network host -v /run/dbus:/run/dbus"
            )
        }
        guard radio?.hasBluetooth != false else {
            return Finding(
                .adapter, .fail, "there is no Bluetooth adapter, and the kernel has not loaded its Bluetooth",
                advice: "plug one in; one that is in shows in lsusb", fix: ["sudo modprobe btusb"])
        }
        guard radio?.board?.hasPrefix("Raspberry Pi") == true else {
            return Finding(
                .adapter, .fail, "there is no Bluetooth adapter",
                advice: "plug one in; why one that is in does not show:",
                fix: ["sudo journalctl -k -g Bluetooth"])
        }
        return Finding(
            .adapter, .fail, "there is no Bluetooth adapter, not even this board's own",
            advice:
                "that is off where /boot/firmware/config.txt has dtoverlay=disable-bt (take the line out and "
                + "reboot), and without its firmware:",
            fix: ["sudo apt-get install pi-bluetooth", "sudo reboot"])
    }

    private static func state(
        of adapter: BlueZFacts.Adapter, among all: [BlueZFacts.Adapter], _ facts: DoctorFacts
    ) -> Finding {
        let name = "\(adapter.name) (\(adapter.address))"
        if adapter.address == "00:00:00:00:00:00" {
            return Finding(
                .adapter, .fail, "\(name) did not start: it has no address",
                advice: "unplug it and plug it in again", fix: ["sudo journalctl -k -g Bluetooth"])
        }
        if let roles = adapter.roles, !roles.contains(where: { $0.contains("central") }) {
            return Finding(
                .adapter, .fail, "\(name) cannot reach recorders: it has no Bluetooth Low Energy",
                advice: "use another adapter, of Bluetooth 4.0 or later")
        }
        guard adapter.isPowered else {
            if adapter.powerState == "off-blocked" {
                return Finding(
                    .adapter, .fail, "\(name) is blocked by rfkill",
                    fix: unblock(facts, facts.radio.value?.switches?.first?.name))
            }
            let on =
                all.count == 1
                ? "bluetoothctl power on"
                : "busctl set-property org.bluez /org/bluez/\(adapter.name) org.bluez.Adapter1 Powered b true"
            return Finding(.adapter, .fail, "\(name) is off", fix: [on])
        }
        return Finding(
            .adapter, .ok, "\(name) is on" + (adapter.roles == nil ? "" : " and has Low Energy"))
    }

    // MARK: What keeps an adapter from working

    static func rfkill(_ facts: DoctorFacts) -> [Finding] {
        guard case .found(let radio) = facts.radio else {
            return [Finding(.rfkill, .skipped, "the kernel could not be asked")]
        }
        guard let switches = radio.switches else {
            return [Finding(.rfkill, .skipped, "the kernel has no /sys/class/rfkill")]
        }
        let blocked = switches.flatMap { radioSwitch -> [Finding] in
            var findings: [Finding] = []
            if radioSwitch.isHardBlocked {
                findings.append(
                    Finding(
                        .rfkill, .fail,
                        "the radio is blocked by a switch or by the firmware (\(radioSwitch.name))",
                        advice: "turn the machine's radio switch on, or Bluetooth in the firmware's settings")
                )
            }
            if radioSwitch.isSoftBlocked {
                findings.append(
                    Finding(
                        .rfkill, .fail,
                        "the radio is blocked by software (\(radioSwitch.name)), also after a restart",
                        fix: unblock(facts, radioSwitch.name)))
            }
            return findings
        }
        return blocked.isEmpty ? [Finding(.rfkill, .ok, "the radio is not blocked")] : blocked
    }

    private static func unblock(_ facts: DoctorFacts, _ name: String?) -> [String] {
        guard !facts.tools.hasRFKill else { return ["sudo rfkill unblock bluetooth"] }
        guard let name else { return ["sudo apt-get install rfkill", "sudo rfkill unblock bluetooth"] }
        return ["echo 0 | sudo tee /sys/class/rfkill/\(name)/soft"]
    }

    static func autosuspend(_ facts: DoctorFacts) -> [Finding] {
        guard case .found(let radio) = facts.radio else {
            return [Finding(.autosuspend, .skipped, "the kernel could not be asked")]
        }
        let devices = radio.controllers.compactMap(\.usb)
        guard !devices.isEmpty else {
            let names = radio.controllers.map(\.name).joined(separator: ", ")
            return [
                Finding(
                    .autosuspend, names.isEmpty ? .skipped : .ok,
                    names.isEmpty
                        ? "the kernel shows no adapter here" : "\(names): not on USB, so not put to sleep")
            ]
        }
        return devices.map { device in
            guard device.control == "auto" else {
                return Finding(.autosuspend, .ok, "USB device \(device.name) stays awake")
            }
            let now = "echo on | sudo tee /sys/bus/usb/devices/\(device.name)/power/control"
            return Finding(
                .autosuspend, .warn,
                "the kernel may put the adapter to sleep (USB device \(device.name)), and then it hears no recorder",
                advice: radio.hasRules
                    ? nil : "60-celestiad.rules is not installed; it keeps adapters awake for good",
                fix: radio.hasRules ? ["sudo udevadm control --reload", now] : [now])
        }
    }

    static func namespace(_ facts: DoctorFacts) -> [Finding] {
        guard case .found(let radio) = facts.radio else {
            return [Finding(.namespace, .skipped, "the kernel could not be asked")]
        }
        let known = facts.bluez.value?.adapters.first?.name
        let container = radio.container.map { " (\($0))" } ?? ""
        // The daemon's word counts: its sandbox and network are not this program's.
        if case .success(let status) = facts.daemon.status, let has = status.daemon.bluetoothSockets {
            if has { return [Finding(.namespace, .ok, "the daemon can have Bluetooth sockets")] }
        } else if radio.hasSockets {
            return [Finding(.namespace, .ok, "Bluetooth sockets can be had\(container)")]
        }
        guard let known else {
            return [
                Finding(.namespace, .skipped, "without an adapter it cannot be told what keeps sockets away")
            ]
        }
        return [
            Finding(
                .namespace, .warn,
                "bluetoothd has \(known), but Bluetooth sockets cannot be had\(container): the network is not the "
                    + "host's, and files come over the slow way",
                advice: radio.container == nil
                    ? "run the daemon in the host's network, with PrivateNetwork=no and AF_BLUETOOTH in its unit"
                    : "run the container in the host's network: docker run --network host",
                fix: radio.container == nil ? ["systemctl cat celestiad"] : [])
        ]
    }
}
