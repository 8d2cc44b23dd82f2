import CaptureQueue
import EventLoop
import Glibc

/// The kinds of torture; each ends with its count, or with the seed of what failed.
struct Scenes {
    let directory: String
    let seed: UInt64
    let loop: EventLoop
    let faultLibrary: String?

    /// Killed again and again, each time at another place.
    func kills(_ count: Int) async throws -> Bool {
        var failed = 0
        var (kills, runs) = (0, 0)
        var round: UInt64 = 0
        // A fresh queue every 250 kills: otherwise the list of what was done grows and not what is tried.
        while kills < count {
            let seed = seed &+ round
            var torture = Torture(try place("kills-\(round)"), seed: seed, loop: loop)
            round += 1
            while torture.kills < min(250, count - kills), failed == 0 {
                let breakage = torture.pickKill()
                let code = try torture.run(breakage)
                if let code, code != 0 {
                    failed += report(["a run that was not killed ended with \(code)"], seed, "\(breakage)")
                }
                failed += report(await torture.faults(), seed, "\(breakage)")
            }
            if failed == 0 { failed += report(try await torture.finish(), seed, "the last run") }
            kills += torture.kills
            runs += torture.runs
            remove(torture.directory)
            if failed > 0 { break }
        }
        say("kills: \(kills) of \(runs) runs were killed, \(failed) faults")
        return failed == 0
    }

    /// The power goes while it works: what was not flushed is lost.
    func powerCuts(_ count: Int) async throws -> Bool {
        guard Disk.isPossible else {
            say("power cuts: skipped, because that needs root and loop devices")
            return true
        }
        let base = try place("power")
        let disk = try Disk(base, mebibytes: 64)
        defer { disk.remove() }
        var torture = Torture(disk.mountPoint, seed: seed, loop: loop)
        var failed = 0
        for _ in 0..<count where failed == 0 {
            // Cut at a place of the program, so that each step of the order of durability has its turn.
            _ = try torture.run(torture.pickKill())
            try disk.cutPower()
            try disk.unmount()
            try disk.mount()
            failed += report(await torture.faults(), seed, "after a power cut")
        }
        if failed == 0 { failed += report(try await torture.finish(), seed, "the last run") }
        say("power cuts: \(count), of them \(torture.kills) in the middle of a run, \(failed) faults")
        return failed == 0
    }

    /// A disk so small that it is full again and again.
    func fullDisks(_ count: Int) async throws -> Bool {
        guard Disk.isPossible else {
            say("full disks: skipped, because that needs root and loop devices")
            return true
        }
        let base = try place("full")
        let disk = try Disk(base, mebibytes: 24)
        defer { disk.remove() }
        var torture = Torture(disk.mountPoint, seed: seed, loop: loop)
        let filler = disk.mountPoint + "/filler"
        var (failed, refused) = (0, 0)
        _ = try torture.run(.none)
        for _ in 0..<count where failed == 0 {
            // What is left is enough for a part of a run only.
            try fill(filler, leaving: torture.pick(0...180) << 10, on: disk.mountPoint)
            if try torture.run(.none) != 0 { refused += 1 }
            unlink(filler)
            failed += report(await torture.faults(), seed, "after a full disk")
            guard failed == 0 else { break }
            if try torture.run(.none, more: 0) != 0 {
                failed += report(
                    ["it does not go on although there is room again"], seed, "after a full disk")
            }
        }
        if failed == 0 { failed += report(try await torture.finish(), seed, "the last run") }
        say("full disks: \(count), of which \(refused) stopped a run, \(failed) faults")
        return failed == 0
    }

    /// Reads, writes and flushes that fail or are cut short.
    func diskFaults(_ count: Int) async throws -> Bool {
        guard let faultLibrary else {
            say("disk faults: skipped, because no C compiler made simulators/torture/faults.c")
            return true
        }
        var torture = Torture(try place("faults"), seed: seed, loop: loop)
        defer { remove(torture.directory) }
        var (failed, stopped) = (0, 0)
        let kinds = ["write:EIO", "write:short", "write:ENOSPC", "sync:EIO", "rename:EIO", "read:EIO"]
        _ = try torture.run(.none)
        for number in 0..<count where failed == 0 {
            let fault = "\(kinds[number % kinds.count]):\(torture.pick(1...60))"
            if try torture.run(.fault(fault, library: faultLibrary)) != 0 { stopped += 1 }
            failed += report(await torture.faults(), seed, fault)
        }
        if failed == 0 { failed += report(try await torture.finish(), seed, "the last run") }
        say("disk faults: \(count), of which \(stopped) stopped a run, \(failed) faults")
        return failed == 0
    }

    /// A state directory that cannot be written.
    func readOnly() async throws -> Bool {
        guard Disk.isPossible else {
            say("read-only: skipped, because that needs root and loop devices")
            return true
        }
        let disk = try Disk(try place("readonly"), mebibytes: 24)
        defer { disk.remove() }
        var torture = Torture(disk.mountPoint, seed: seed, loop: loop)
        _ = try torture.run(.none)
        try disk.makeReadOnly(true)
        let code = try torture.run(.none)
        try disk.makeReadOnly(false)
        var failed = code == 0 ? report(["it ran on a read-only disk"], seed, "read-only") : 0
        failed += report(await torture.faults(), seed, "read-only")
        if failed == 0 { failed += report(try await torture.finish(), seed, "the last run") }
        say("read-only: 1, \(failed) faults")
        return failed == 0
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

    private func place(_ name: String) throws -> String {
        let path = "\(directory)/\(name)-\(getpid())"
        guard mkdir(path, 0o700) == 0 else { throw Failure("\(path) cannot be made") }
        return path
    }

    private func remove(_ path: String) { try? Child.run("rm", "-rf", path) }

    private func report(_ faults: [String], _ seed: UInt64, _ what: String) -> Int {
        for fault in faults.prefix(20) { say("FAULT (--seed \(seed), \(what)): \(fault)") }
        return faults.count
    }

    private func say(_ line: String) { Lines.say(line, to: STDOUT_FILENO) }
}
