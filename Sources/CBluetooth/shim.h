#pragma once
// Headers only: kernel socket addresses and options; no code of libbluetooth is linked.
#include <sys/socket.h>
#include <bluetooth/bluetooth.h>
#include <bluetooth/l2cap.h>
#include <bluetooth/hci.h>
