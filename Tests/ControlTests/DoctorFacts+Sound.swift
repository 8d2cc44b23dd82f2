import Control
import Foundation
import Gateway

@testable import celestiad

extension DoctorFacts {
    /// A machine on which all is well.
    static var sound: DoctorFacts {
        var status = Fixtures.status
        status.health = []
        status.daemon = DaemonDocument(version: Version.number, startedAt: Fixtures.now)
        let cloud = CloudStatusDocument(
            time: Fixtures.now, host: "api.example.com", state: "ok", account: Fixtures.account)
        return DoctorFacts(
            now: Date(timeIntervalSince1970: 1_796_000_000), user: "ada",
            configuration: .found(Configuration()),
            bus: BusFacts(address: "unix:path=/run/dbus/system_bus_socket"),
            service: .found(UnitFacts()), bluetoothService: .found(UnitFacts()),
            daemon: DaemonFacts(
                status: .success(status),
                storage: .success(
                    StorageReportDocument(
                        disk: status.disk, databaseBytes: 0, ballastBytes: 0, storedBytes: 0, unsentBytes: 0,
                        keptBytes: 0)),
                cloud: .success(cloud)),
            radio: .found(
                RadioFacts(
                    controllers: [.init(name: "hci0", usb: .init(name: "1-1", control: "on"))],
                    switches: [.init(name: "rfkill0")])),
            bluez: .found(
                BlueZFacts(
                    adapters: [.init(name: "hci0", roles: ["central", "peripheral"])], version: "5.84-1")),
            clock: .found(ClockFacts(isSynchronized: true)),
            disk: .found(
                DiskFacts(
                    path: "/var/lib/celestiad", total: 32 << 30, free: 16 << 30, files: 1 << 20,
                    freeFiles: 1 << 19)),
            credentials: .found(
                CredentialFacts(
                    directory: "/var/lib/celestiad", state: .found(mode: 0o700, owner: 990),
                    tokens: .found(mode: 0o600, owner: 990), daemonUser: 990)),
            cloud: .blind("the daemon was asked"), folder: nil)
    }

    func with(_ change: (inout DoctorFacts) -> Void) -> DoctorFacts {
        var facts = self
        change(&facts)
        return facts
    }

    func radio(_ change: (inout RadioFacts) -> Void) -> DoctorFacts {
        var radio = RadioFacts()
        if let known = self.radio.value { radio = known }
        change(&radio)
        return with { $0.radio = .found(radio) }
    }

    func bluez(_ change: (inout BlueZFacts) -> Void) -> DoctorFacts {
        var bluez = BlueZFacts()
        if let known = self.bluez.value { bluez = known }
        change(&bluez)
        return with { $0.bluez = .found(bluez) }
    }

    func unit(_ change: (inout UnitFacts) -> Void) -> DoctorFacts {
        var unit = UnitFacts()
        change(&unit)
        return with { $0.service = .found(unit) }
    }

    func bluetoothUnit(_ change: (inout UnitFacts) -> Void) -> DoctorFacts {
        var unit = UnitFacts()
        change(&unit)
        return with { $0.bluetoothService = .found(unit) }
    }

    func daemon(_ error: ControlError) -> DoctorFacts {
        with {
            $0.daemon = DaemonFacts(status: .failure(error), storage: .failure(error), cloud: .failure(error))
        }
    }

    func status(_ change: (inout StatusDocument) -> Void) -> DoctorFacts {
        guard case .success(var status) = daemon.status else { return self }
        change(&status)
        return with { $0.daemon.status = .success(status) }
    }

    func skew(_ seconds: Int64) -> DoctorFacts {
        with { facts in
            guard case .success(var cloud) = facts.daemon.cloud else { return }
            cloud.clockSkewMs = seconds * 1000
            facts.daemon.cloud = .success(cloud)
        }
    }

    func credentials(_ change: (inout CredentialFacts) -> Void) -> DoctorFacts {
        guard case .found(var found) = credentials else { return self }
        change(&found)
        return with { $0.credentials = .found(found) }
    }

    func disk(_ change: (inout DiskFacts) -> Void) -> DoctorFacts {
        guard case .found(var found) = disk else { return self }
        change(&found)
        return with { $0.disk = .found(found) }
    }

    func folder(_ path: String, _ place: FolderFacts.Place) -> DoctorFacts {
        with { $0.folder = .found(FolderFacts(path: path, place: place)) }
    }
}
