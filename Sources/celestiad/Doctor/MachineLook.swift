import BlueZ
import Control
import EventLoop
import Gateway
import Glibc

/// Reads the machine's files for the doctor. Every call may block.
struct MachineLook: Sendable {
    let tree: SystemTree
    var userName = "celestiad"
    /// The user and its groups; nil where there is none of that name.
    var account: @Sendable (String) -> Account? = Account.init(named:)

    /// A user whose rights are judged.
    struct Account: Sendable, Equatable {
        let id: UInt32
        let groups: [UInt32]
    }

    // MARK: The radio

    func radio() -> RadioFacts {
        let names = (tree.names("/sys/class/bluetooth") ?? [])
            .filter { $0.hasPrefix("hci") && !$0.contains(":") }
        return RadioFacts(
            hasBluetooth: tree.exists("/sys/class/bluetooth") || tree.exists("/sys/module/bluetooth"),
            controllers: names.map { RadioFacts.Controller(name: $0, usb: usbDevice(of: $0)) },
            switches: switches(), hasSockets: L2CAPSocket.isSupported, container: container(),
            board: tree.word("/proc/device-tree/model")?.replacing("\0", with: ""),
            hasRules: tree.hasAny(
                of: ["/usr/lib", "/lib", "/etc"].map { "\($0)/udev/rules.d/60-celestiad.rules" }))
    }

    /// The USB device that a controller is on: the nearest of the folders above it that has a vendor.
    private func usbDevice(of controller: String) -> RadioFacts.USBDevice? {
        var path = tree.target("/sys/class/bluetooth/\(controller)")
        while let folder = path, folder != "/", folder != "/sys" {
            if tree.exists("\(folder)/idVendor"), let control = tree.word("\(folder)/power/control") {
                let name = folder.split(separator: "/").last.map(String.init) ?? folder
                return RadioFacts.USBDevice(name: name, control: control)
            }
            path = SystemTree.parent(of: folder)
        }
        return nil
    }

    private func switches() -> [RadioFacts.Switch]? {
        tree.names("/sys/class/rfkill")?.compactMap { name in
            let folder = "/sys/class/rfkill/\(name)"
            guard tree.word("\(folder)/type") == "bluetooth" else { return nil }
            return RadioFacts.Switch(
                name: name, isSoftBlocked: tree.word("\(folder)/soft") == "1",
                isHardBlocked: tree.word("\(folder)/hard") == "1")
        }
    }

    private func container() -> String? {
        if let kind = tree.word("/run/systemd/container"), !kind.isEmpty { return kind }
        if tree.exists("/.dockerenv") { return "docker" }
        return tree.exists("/run/.containerenv") ? "podman" : nil
    }

    // MARK: What is installed

    /// Far above the list of any Debian.
    private static let packageListLimit = 32 << 20

    /// The version of an installed package (dpkg's status file).
    func version(ofPackage name: String) -> String? {
        guard let list = tree.text("/var/lib/dpkg/status", limit: Self.packageListLimit) else { return nil }
        var isIn = false
        for line in list.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.isEmpty {
                isIn = false
            } else if line.starts(with: "Package: ".utf8) {
                isIn = line.elementsEqual("Package: \(name)".utf8)
            } else if isIn, line.starts(with: "Status: ".utf8) {
                isIn = String(Substring(line)).hasSuffix(" installed")
            } else if isIn, line.starts(with: "Version: ".utf8) {
                return String(Substring(line).dropFirst("Version: ".count))
            }
        }
        return nil
    }

    func versions() -> BundleVersions {
        BundleVersions(
            program: Version.number, kernel: Self.kernel(), system: system(),
            bluez: version(ofPackage: "bluez"),
            dbus: version(ofPackage: "dbus"), systemd: version(ofPackage: "systemd"))
    }

    /// Release and processor, not the machine's name.
    private static func kernel() -> String {
        var names = utsname()
        guard uname(&names) == 0 else { return "" }
        func text(_ field: some Any) -> String {
            withUnsafeBytes(of: field) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(names.sysname)) \(text(names.release)) \(text(names.machine))"
    }

    /// As os-release(5) calls the distribution.
    private func system() -> String? {
        let prefix = "PRETTY_NAME="
        let line = (tree.text("/etc/os-release") ?? tree.text("/usr/lib/os-release"))?
            .split(separator: "\n").first { $0.hasPrefix(prefix) }
        return line.map { String($0.dropFirst(prefix.count)).replacing("\"", with: "") }
    }

    func tools() -> ToolFacts {
        ToolFacts(
            hasRFKill: tree.hasAny(of: ["/usr/sbin/rfkill", "/usr/bin/rfkill", "/sbin/rfkill"]),
            hasTimeService: tree.hasAny(of: [
                "/usr/lib/systemd/systemd-timesyncd", "/lib/systemd/systemd-timesyncd", "/usr/sbin/chronyd",
                "/usr/sbin/ntpd",
            ]),
            hasACLs: tree.hasAny(of: ["/usr/bin/setfacl", "/bin/setfacl"]))
    }

    func hasPolicy() -> Bool {
        tree.hasAny(
            of: ["/usr/share", "/etc"].map { "\($0)/dbus-1/system.d/life.ccdw.Celestia1.conf" })
    }

    // MARK: The disk

    func disk(_ directory: String) -> Look<DiskFacts> {
        // What is not there yet will be on the file system of its folder.
        var path = directory
        while !tree.exists(path), let parent = SystemTree.parent(of: path) { path = parent }
        var info = statvfs()
        guard statvfs(tree.root + path, &info) == 0 else {
            return .blind("the file system of \(directory) cannot be looked at: \(SystemError("statvfs"))")
        }
        let unit = UInt64(info.f_frsize)
        func bytes(_ blocks: UInt) -> Int64 {
            let (product, overflow) = UInt64(blocks).multipliedReportingOverflow(by: unit)
            return overflow ? .max : Int64(clamping: product)
        }
        return .found(
            DiskFacts(
                path: directory, isSystems: tree.device(path) == tree.device("/var"),
                total: bytes(info.f_blocks), free: bytes(info.f_bavail),
                isReadOnly: info.f_flag & UInt(ST_RDONLY) != 0, files: Int64(clamping: info.f_files),
                freeFiles: Int64(clamping: info.f_favail)))
    }

    // MARK: Files of ours

    func credentials(_ directory: String) -> CredentialFacts {
        // Only there are the files certain to be the service's.
        let owner = directory == Configuration().stateDirectory ? account(userName)?.id : nil
        return CredentialFacts(
            directory: directory, state: file(directory), tokens: file("\(directory)/credentials"),
            daemonUser: owner, userName: userName)
    }

    private func file(_ path: String) -> CredentialFacts.File {
        switch tree.entry(path) {
        case .absent: .absent
        case .hidden: .hidden
        case .found(let info): .found(mode: info.mode, owner: info.owner)
        }
    }

    func folder(_ path: String) -> FolderFacts {
        var facts = FolderFacts(path: path, place: .absent, userName: userName)
        switch tree.entry(path) {
        case .absent: facts.place = .absent
        case .hidden: facts.place = .folder(isReadable: nil)
        case .found(let info) where !info.isFolder: facts.place = .noFolder
        case .found:
            facts.place = .folder(isReadable: nil)
            guard let user = account(userName) else { break }
            var all = [allows(0o5, path, to: user)]
            var above = SystemTree.parent(of: path)
            while let folder = above {
                all.append(allows(0o1, folder, to: user))
                if all.last == false { facts.closed.append(folder) }
                above = SystemTree.parent(of: folder)
            }
            facts.place = .folder(isReadable: all.contains(false) ? false : all.contains(nil) ? nil : true)
        }
        return facts
    }

    /// By the modes; nil where an access list decides, or nothing is to be seen.
    private func allows(_ needed: UInt32, _ folder: String, to user: Account) -> Bool? {
        guard user.id != 0 else { return true }
        guard case .found(let info) = tree.entry(folder), !FileAccess.hasList(tree.root + folder) else {
            return nil
        }
        let shift: UInt32 = info.owner == user.id ? 6 : user.groups.contains(info.group) ? 3 : 0
        return (info.mode >> shift) & needed == needed
    }
}

extension MachineLook.Account {
    init?(named name: String) {
        var buffer = [CChar](repeating: 0, count: 1 << 14)
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        id = entry.pw_uid
        groups = SystemUserAccounts().groups(of: UserAccount(name: name, group: entry.pw_gid))
    }
}

/// The configuration below the root of a tree.
struct TreeConfigurationFiles: ConfigurationFiles {
    let tree: SystemTree

    func text(of path: String) throws(GatewayError) -> String? {
        try LocalConfigurationFiles().text(of: tree.root + path)
    }

    func names(in folder: String) throws(GatewayError) -> [String] {
        try LocalConfigurationFiles().names(in: tree.root + folder)
    }
}
