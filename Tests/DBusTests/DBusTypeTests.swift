import DBus
import Testing

@Suite struct DBusTypeTests {
    @Test(arguments: ["", "y", "a{sv}", "a{oa{sa{sv}}}", "(is(ao))ah", "aaaay", "a{s(iv)}", "v"])
    func aSignatureRoundTrips(signature: String) {
        #expect(DBusType.parse(signature)?.map(\.signature).joined() == signature)
    }

    @Test(arguments: [
        "a", "(", "()", ")", "a{s}", "a{vs}", "a{sss}", "{sv}", "z", "(i", "a{(i)s}",
        String(repeating: "a", count: 33) + "y",
        String(repeating: "(", count: 33) + "y" + String(repeating: ")", count: 33),
        String(repeating: "y", count: 256),
    ])
    func whatIsNoSignatureIsRefused(signature: String) {
        #expect(DBusType.parse(signature) == nil)
    }

    @Test(arguments: ["/", "/a", "/org/bluez/hci0/dev_00_11"])
    func anObjectPathIsTaken(path: String) {
        #expect(ObjectPath(path)?.text == path)
    }

    @Test(arguments: ["", "a", "//", "/a/", "/a//b", "/a-b", "/ä", "/a b"])
    func whatIsNoObjectPathIsRefused(path: String) {
        #expect(ObjectPath(path) == nil)
    }

    @Test func pathsAreComparedByElement() throws {
        let adapter = try #require(ObjectPath("/org/bluez/hci1"))
        #expect(try #require(ObjectPath("/org/bluez/hci1/dev_1")).isBelow(adapter))
        #expect(try !#require(ObjectPath("/org/bluez/hci10")).isBelow(adapter))
        #expect(try !#require(ObjectPath("/org/bluez/hci10/dev_1")).isBelow(adapter))
        #expect(adapter.isBelow(.root))
        #expect(!ObjectPath.root.isBelow(.root))
    }
}
