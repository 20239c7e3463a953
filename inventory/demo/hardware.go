package demo

// model is a piece of hardware that one can buy.
type model struct {
	vendor, name, os string
	versions         []string
	serial           string // how serial numbers begin
}

// role is what devices do at a site.
type role struct {
	name, short string
	share       int   // in a hundred devices of a site, in the order of the table
	uplink      int64 // Mbps towards the core
	models      []model
}

var (
	iosXE = []string{"17.9.5", "17.12.4", "17.15.1"}
	iosXR = []string{"7.9.2", "7.11.2", "24.2.1"}
	junos = []string{"21.4R3-S7", "22.4R3-S2", "23.2R2-S1"}
	eos   = []string{"4.30.6M", "4.31.4M", "4.32.2F"}
	panOS = []string{"10.2.10", "11.0.6", "11.1.4"}
	forti = []string{"7.2.10", "7.4.5", "7.6.0"}
	aos   = []string{"10.11.1050", "10.13.1010", "10.14.1000"}
	bigip = []string{"16.1.5", "17.1.1.3"}
	nxos  = []string{"10.2(7)", "10.3(5)", "10.4(3)"}
	wifi  = []string{"8.10.0.14", "8.11.2.1", "8.12.0.0"}
)

// roles are in the order in which a network is drawn, from the core to the edge: the devices
// of the first half have their links to those of the second.
var roles = [...]role{
	{"core-router", "cr", 4, 100_000, []model{
		{"Cisco", "ASR 9904", "IOS XR", iosXR, "FOX"},
		{"Juniper", "MX304", "Junos", junos, "JN"},
	}},
	{"firewall", "fw", 6, 10_000, []model{
		{"Palo Alto Networks", "PA-3410", "PAN-OS", panOS, "0167"},
		{"Fortinet", "FortiGate 600F", "FortiOS", forti, "FG6H"},
		{"Juniper", "SRX1600", "Junos", junos, "CV"},
	}},
	{"load-balancer", "lb", 2, 10_000, []model{
		{"F5", "BIG-IP r4800", "TMOS", bigip, "f5-"},
	}},
	{"distribution-switch", "dist-sw", 14, 40_000, []model{
		{"Cisco", "Catalyst 9500-40X", "IOS XE", iosXE, "FCW"},
		{"Arista", "7280R3", "EOS", eos, "JPE"},
		{"Juniper", "QFX5120-48Y", "Junos", junos, "XH"},
	}},
	{"leaf-switch", "leaf", 24, 25_000, []model{
		{"Arista", "7050X3", "EOS", eos, "JPA"},
		{"Cisco", "Nexus 93180YC-FX3", "NX-OS", nxos, "FDO"},
		{"Juniper", "QFX5130-32CD", "Junos", junos, "XI"},
	}},
	{"access-switch", "acc-sw", 35, 10_000, []model{
		{"Cisco", "Catalyst 9300-48P", "IOS XE", iosXE, "FJC"},
		{"Aruba", "CX 6300M", "AOS-CX", aos, "SG"},
		{"Juniper", "EX4400-48P", "Junos", junos, "ZD"},
	}},
	{"access-point", "ap", 15, 1000, []model{
		{"Aruba", "AP-635", "ArubaOS", wifi, "CNP"},
		{"Cisco", "Catalyst 9136I", "IOS XE", iosXE, "KWC"},
	}},
}

// roleAt is the role of one of n devices of a part of a site.
func roleAt(i, n int) int {
	place := 100 * i / n
	for r := range roles {
		if place -= roles[r].share; place < 0 {
			return r
		}
	}
	return len(roles) - 1
}

// portName is how a vendor's system names an Ethernet port, counted from 1.
func portName(m *model, mbps, number int64) string {
	switch m.os {
	case "Junos":
		return junosPort(mbps) + decimal(number-1)
	case "IOS XE", "IOS XR":
		return ciscoPort(m.os, mbps) + decimal(number)
	case "NX-OS", "PAN-OS", "AOS-CX":
		return slashPort(m.os) + decimal(number)
	case "EOS":
		return "Ethernet" + decimal(number)
	case "FortiOS":
		return "port" + decimal(number)
	case "TMOS":
		return "1." + decimal(number)
	}
	return "eth" + decimal(number)
}

func junosPort(mbps int64) string {
	switch {
	case mbps <= 1000:
		return "ge-0/0/"
	case mbps <= 10_000:
		return "xe-0/0/"
	}
	return "et-0/0/"
}

func ciscoPort(os string, mbps int64) string {
	place := "1/0/"
	if os == "IOS XR" {
		place = "0/0/0/"
	}
	switch {
	case mbps <= 1000:
		return "GigabitEthernet" + place
	case mbps <= 10_000 && os == "IOS XR":
		return "TenGigE" + place
	case mbps <= 10_000:
		return "TenGigabitEthernet" + place
	case mbps <= 25_000:
		return "TwentyFiveGigE" + place
	case mbps <= 40_000:
		return "FortyGigE" + place
	}
	return "HundredGigE" + place
}

func slashPort(os string) string {
	switch os {
	case "NX-OS":
		return "Ethernet1/"
	case "PAN-OS":
		return "ethernet1/"
	}
	return "1/1/"
}

// managementName is how a vendor names the port that only manages.
func managementName(m *model) string {
	switch m.os {
	case "Junos":
		return junosManagement(m.name)
	case "IOS XR":
		return "MgmtEth0/RP0/CPU0/0"
	case "IOS XE":
		return "GigabitEthernet0/0"
	case "NX-OS":
		return "mgmt0"
	case "EOS":
		return "Management1"
	case "PAN-OS":
		return "management"
	}
	return "mgmt"
}

func junosManagement(model string) string {
	switch model[:2] {
	case "EX":
		return "me0"
	case "QF":
		return "em0"
	}
	return "fxp0"
}
