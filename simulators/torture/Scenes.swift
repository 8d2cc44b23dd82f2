import Glibc

/// The kinds of torture; each ends with its counts, or with the seed of what failed.
struct Scenes {
    let directory: String
    let seed: UInt64
    let setting: Torture.Setting

    /// A fresh queue after so many trials: otherwise the list of what was done grows, and not what is tried.
    static let trialsOfRound = 50

    /// Killed again and again, each time at another place; also while it recovers from the kill before.
    func kills(_ count: Int) async throws -> Bool {
        var tally = Tally("kills")
        while tally.count < count, tally.isWell {
            tally.begin(seed &+ UInt64(tally.rounds))
            var torture = Torture(try place("kills"), seed: tally.seed, setting: setting)
            let end = min(count, tally.count + Self.trialsOfRound)
            while tally.count < end, tally.isWell {
                torture.disturb()
                let breakage = torture.pickKill()
                let outcome = try torture.run(breakage)
                if outcome.ending == .killed {
                    tally.met()
                } else {
                    tally.expect(.code(0), outcome.ending, breakage)
                }
                tally.report(try await torture.faults(outcome), breakage)
            }
            if tally.isWell { tally.report(try await torture.finish(), "the last run") }
            tally.note(torture.world)
            remove(torture.directory)
        }
        return tally.say("of \(tally.tries) runs were killed")
    }

    /// The power goes while it works: what was not flushed is lost.
    func powerCuts(_ count: Int) async throws -> Bool {
        guard Disk.isPossible else { return skipped("power cuts") }
        var tally = Tally("power cuts")
        while tally.count < count, tally.isWell {
            tally.begin(seed &+ UInt64(tally.rounds))
            let disk = try Disk(try place("power"), mebibytes: 64)
            defer { disk.remove() }
            var torture = Torture(disk.mountPoint, seed: tally.seed, setting: setting)
            let end = min(count, tally.count + Self.trialsOfRound)
            while tally.count < end, tally.isWell {
                torture.disturb()
                let breakage = torture.pickKill(["cut-before", "cut-after"])
                let outcome = try torture.run(breakage)
                switch outcome.ending {
                case .killed: break
                // Another thread may meet the dead disk before the process dies.
                case .code(3) where outcome.report.struck: break
                default: tally.expect(.code(0), outcome.ending, breakage)
                }
                tally.met(inTheMiddle: outcome.ending != .code(0))
                try disk.cutPower()
                try disk.unmount()
                try disk.mount()
                tally.report(try await torture.faults(outcome), breakage)
            }
            if tally.isWell { tally.report(try await torture.finish(), "the last run") }
            tally.note(torture.world)
        }
        return tally.say("\(tally.inTheMiddle) of them in the middle of a run")
    }

    /// A disk so small that it is full again and again.
    func fullDisks(_ count: Int) async throws -> Bool {
        guard Disk.isPossible else { return skipped("full disks") }
        var tally = Tally("full disks", seed)
        let disk = try Disk(try place("full"), mebibytes: 24)
        defer { disk.remove() }
        var torture = Torture(disk.mountPoint, seed: seed, setting: setting)
        let filler = disk.mountPoint + "/filler"
        tally.expect(.code(0), try torture.run(.none).ending, Torture.Breakage.none)
        while tally.count < count, tally.isWell {
            // What is left is enough for a part of a run only.
            try fill(filler, leaving: torture.pick(0...180) << 10, on: disk.mountPoint)
            let full = try torture.run(.none)
            tally.met(inTheMiddle: full.ending != .code(0))
            tally.expectStop(full.ending, "a full disk")
            unlink(filler)
            tally.report(try await torture.faults(full), "a full disk")
            tally.expect(.code(0), try torture.run(.none, more: 0).ending, "there is room again")
        }
        if tally.isWell { tally.report(try await torture.finish(), "the last run") }
        return tally.say("\(tally.inTheMiddle) of them stopped a run")
    }

    /// A state directory that cannot be written.
    func readOnly() async throws -> Bool {
        guard Disk.isPossible else { return skipped("read-only") }
        var tally = Tally("read-only", seed)
        let disk = try Disk(try place("readonly"), mebibytes: 24)
        defer { disk.remove() }
        var torture = Torture(disk.mountPoint, seed: seed, setting: setting)
        tally.expect(.code(0), try torture.run(.none).ending, Torture.Breakage.none)
        try disk.makeReadOnly(true)
        let outcome = try torture.run(.none)
        try disk.makeReadOnly(false)
        tally.met()
        tally.expect(.code(3), outcome.ending, "a read-only disk")
        tally.report(try await torture.faults(outcome), "a read-only disk")
        if tally.isWell { tally.report(try await torture.finish(), "the last run") }
        return tally.say("")
    }

    // MARK: Means

    private func fill(_ path: String, leaving bytes: Int, on mountPoint: String) throws {
        var info = statvfs()
        guard statvfs(mountPoint, &info) == 0 else { throw Failure("the disk cannot be measured") }
        let size = Int(info.f_bavail) * Int(info.f_frsize) - bytes
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("no filler") }
        defer { close(descriptor) }
        if size > 0 { posix_fallocate(descriptor, 0, off_t(size)) }
    }

    func place(_ name: String) throws -> String {
        let path = "\(directory)/\(name)"
        try Child.run("rm", "-rf", path)
        guard mkdir(path, 0o700) == 0 else { throw Failure("\(path) cannot be made") }
        return path
    }

    func remove(_ path: String) { try? Child.run("rm", "-rf", path) }

    private func skipped(_ what: String) -> Bool {
        Lines.say("\(what): SKIPPED, because that needs root and loop devices", to: STDOUT_FILENO)
        return true
    }
}

/// Counts the trials of a scene, and says at once what is wrong.
struct Tally {
    private let name: String
    private(set) var seed: UInt64
    private(set) var count = 0
    private(set) var tries = 0
    private(set) var inTheMiddle = 0
    private(set) var rounds = 0
    private var faults = 0
    private var refreshes = 0
    private var logins = 0

    var isWell: Bool { faults == 0 }

    init(_ name: String, _ seed: UInt64 = 0) {
        self.name = name
        self.seed = seed
    }

    mutating func begin(_ seed: UInt64) {
        if count > 0, count % 500 == 0 { Lines.say("\(name): \(count) so far", to: STDOUT_FILENO) }
        self.seed = seed
        rounds += 1
    }

    mutating func met(inTheMiddle: Bool = false) {
        count += 1
        if inTheMiddle { self.inTheMiddle += 1 }
    }

    mutating func expect(_ wanted: Child.Ending, _ found: Child.Ending, _ what: some CustomStringConvertible)
    {
        if found != wanted { report(["the run ended with \(found) instead of \(wanted)"], what) }
    }

    /// It may stop with an error, in order.
    mutating func expectStop(_ found: Child.Ending, _ what: some CustomStringConvertible) {
        if found != .code(0), found != .code(3) { report(["the run ended with \(found)"], what) }
    }

    mutating func report(_ faults: [String], _ what: some CustomStringConvertible) {
        tries += 1
        for fault in faults.prefix(12) {
            Lines.say("FAULT (\(name), --seed \(seed), trial \(count): \(what)): \(fault)", to: STDOUT_FILENO)
        }
        self.faults += faults.count
    }

    mutating func note(_ world: World) {
        for cloud in world.clouds.values {
            refreshes += cloud.tokens.refreshes
            logins += cloud.tokens.logins
        }
    }

    func say(_ detail: String) -> Bool {
        let tokens = logins > 0 ? "; \(refreshes) token refreshes, \(logins) logins" : ""
        Lines.say(
            "\(name): \(count)\(detail.isEmpty ? "" : ", ")\(detail)\(tokens); \(faults) faults",
            to: STDOUT_FILENO)
        return isWell
    }
}
