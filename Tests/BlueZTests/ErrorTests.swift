import DBus
import EventLoop
import Glibc
import Testing

@testable import BlueZ

@Suite struct ErrorTests {
    @Test(arguments: [
        ("Failed", "Operation failed with ATT error: 0x81", BlueZError.Code.attribute(ATTError(0x81))),
        ("Failed", "Operation failed with ATT error: 0x0e", .attribute(ATTError(0x0e))),
        ("Failed", "Operation failed with ATT error: 0x05", .notPaired),
        ("Failed", "Operation failed with ATT error: 0x0f", .notPaired),
        ("Failed", "Operation failed with ATT error: 0x", .failed),
        ("Failed", "Operation failed with ATT error: 0x123", .failed),
        ("Failed", "Operation failed with ATT error: 0x-1", .failed),
        ("Failed", "Not connected", .linkLost),
        ("Failed", "Operation already in progress", .inProgress),
        ("InProgress", "In Progress", .inProgress),
        ("Failed", "le-connection-abort-by-local", .connectFailed(.abortByLocal)),
        ("Failed", "br-connection-aborted-by-local", .connectFailed(.abortByLocal)),
        ("Failed", "br-connection-canceled", .connectFailed(.canceled)),
        ("Failed", "Software caused connection abort", .connectFailed(.abortByLocal)),
        ("Failed", "", .failed),
        ("NotReady", "Resource Not Ready", .adapterOff),
        ("NotReady", "br-connection-adapter-not-powered", .adapterOff),
        ("Blocked", "Blocked through rfkill", .adapterOff),
        ("Busy", "", .inProgress),
        ("NotPermitted", "Not paired", .notPaired),
        ("NotPermitted", "Read not permitted", .attribute(.readNotPermitted)),
        ("NotPermitted", "Write not permitted", .attribute(.writeNotPermitted)),
        ("NotPermitted", "Notify acquired", .notPermitted),
        ("NotAuthorized", "Operation Not Authorized", .notPermitted),
        ("NotSupported", "Operation is not supported", .unsupported),
        ("InvalidArguments", "Invalid offset", .attribute(.invalidOffset)),
        ("InvalidArguments", "Invalid Length", .attribute(.invalidLength)),
        ("InvalidArguments", "Invalid arguments in method call", .invalidArgument),
        ("NotConnected", "Not Connected", .linkLost),
        ("DoesNotExist", "Does Not Exist", .deviceGone),
        ("AuthenticationFailed", "Authentication Failed", .authenticationFailed),
        ("AuthenticationRejected", "Authentication Rejected", .authenticationRejected),
        ("AuthenticationCanceled", "Authentication Canceled", .authenticationCanceled),
        ("AuthenticationTimeout", "Authentication Timeout", .authenticationTimedOut),
        ("ConnectionAttemptFailed", "Page Timeout", .connectFailed(.pageTimeout)),
        ("SomethingNew", "", .failed),
    ])
    func bluezErrorsAreUnderstood(name: String, text: String, code: BlueZError.Code) {
        let error = BlueZError(DBusError.remote("org.bluez.Error." + name, text))
        #expect(error.code == code)
        #expect(error.message == ATTError(parsing: text).map { "the device refused: \($0)" } ?? text)
        #expect(error.name == "org.bluez.Error." + name)
    }

    @Test func attributeErrorsAreSaidInWords() {
        let error = BlueZError(
            DBusError.remote("org.bluez.Error.Failed", "Operation failed with ATT error: 0x80"))
        #expect(error.message == "the device refused: an error of the service's own, ATT error 0x80")
        let words = (0...255).map { ATTError(UInt8($0)).description }
        #expect(Set(words).count == 256)
        #expect(ATTError(0x05).description == "the link is not authenticated, ATT error 0x05")
    }

    @Test func timesAreSaidInSeconds() {
        #expect(BlueZError.timedOut("it", .seconds(30)).message == "it did not happen within 30 s")
        #expect(BlueZError.timedOut("it", .milliseconds(5)).message == "it did not happen within 5 ms")
    }

    @Test(arguments: [
        (DBusError(.remote, name: DBusErrorName.unknownObject, ""), BlueZError.Code.deviceGone),
        (DBusError(.remote, name: DBusErrorName.unknownMethod, ""), .deviceGone),
        (DBusError(.remote, name: DBusErrorName.serviceUnknown, ""), .bluetoothdGone),
        (DBusError(.remote, name: DBusErrorName.accessDenied, ""), .notPermitted),
        (
            DBusError(
                .noReply, name: DBusErrorName.noReply,
                "Message recipient disconnected from message bus without replying"), .bluetoothdGone
        ),
        (DBusError(.noReply, name: DBusErrorName.noReply, "Did not receive a reply."), .timedOut),
        (DBusError(.disconnected, ""), .busGone),
        (DBusError(.cancelled, ""), .cancelled),
        (DBusError(.malformed, ""), .malformed),
    ])
    func busErrorsAreUnderstood(error: DBusError, code: BlueZError.Code) {
        #expect(BlueZError(error).code == code)
    }

    @Test func connectFailuresAreReadByTheirEnd() {
        for failure in ConnectFailure.allCases {
            for bearer in ["le", "br"] {
                #expect(ConnectFailure("\(bearer)-connection-\(failure.rawValue)") == failure)
            }
        }
        #expect(ConnectFailure("br-connection-aborted-by-remote") == .abortByRemote)
        #expect(ConnectFailure("le-connection-of-the-future") == .unknown)
        #expect(ConnectFailure("le-connection-") == .unknown)
        #expect(ConnectFailure("something else") == nil)
        #expect(
            ConnectFailure.allCases.filter { !$0.isTransient } == [
                .invalidArguments, .notSupported, .keyMissing, .profileUnavailable,
            ])
    }

    @Test func addressesAreReadLeastSignificantByteFirst() throws {
        let address = try #require(DeviceAddress("a1:B2:c3:D4:e5:06"))
        #expect(address.bytes == [0x06, 0xe5, 0xd4, 0xc3, 0xb2, 0xa1])
        #expect(address.description == "A1:B2:C3:D4:E5:06")
    }

    @Test(arguments: [
        "", "A1:B2:C3:D4:E5", "A1:B2:C3:D4:E5:F6:07", "A1-B2-C3-D4-E5-F6", "A1:B2:C3:D4:E5:G6",
        "A1:B2:C3:D4:E5:+6",
        "A1:B2:C3:D4::5F6", "A1:B2:C3:D4:E5:F6 ", "A1:B2:C3:D4:E5:ö",
    ])
    func whatIsNoAddressIsRefused(text: String) {
        #expect(DeviceAddress(text) == nil)
    }

    @Test func socketAddressesHaveTheKernelsLayout() throws {
        let device = try #require(DeviceAddress("AA:BB:CC:DD:EE:FF"))
        for (kind, type) in [(DeviceAddress.Kind.public, UInt8(1)), (.random, 2)] {
            let address = L2CAPSocket.address(device, kind, psm: 0x0025)
            let bytes = withUnsafeBytes(of: address) { Array($0) }
            #expect(
                bytes == [31, 0, 0x25, 0, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0, 0, type, 0])
        }
    }

    @Test(arguments: [
        (EAFNOSUPPORT, BlueZError.Code.unsupported), (EPROTONOSUPPORT, .unsupported), (EACCES, .notPermitted),
        (ECONNREFUSED, .refused), (ETIMEDOUT, .timedOut), (EHOSTUNREACH, .adapterGone),
        (EHOSTDOWN, .linkLost),
        (ECONNRESET, .linkLost), (EBUSY, .inProgress), (EINVAL, .invalidArgument), (EIO, .failed),
    ])
    func socketErrorsAreUnderstood(errno: Int32, code: BlueZError.Code) {
        #expect(L2CAPSocket.error(for: SystemError("connect", errno: errno)).code == code)
    }
}
