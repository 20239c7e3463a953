# Reads a NetBox, or what answers like one, by clients of NetBox, and prints what they found as JSON: URL DIRECTORY CHANGES.
# The token is in NETBOX_TOKEN. CHANGES are the values that an import changes, as JSON.
import collections, json, os, subprocess, sys
from pathlib import Path

import pynetbox
from nornir_netbox.plugins.inventory.netbox import NetBoxInventory2

url, directory, changes = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
token = os.environ["NETBOX_TOKEN"]
skipped = lambda name: not name or name.isdigit() or name.startswith(("twin", "Acme SW48 (")) or len(name) == 36  # whose names an import changes


def value(o, path):
    for name in path.split("."):
        o = getattr(o, name, None) if not isinstance(o, dict) else o.get(name)
    if isinstance(o, list):
        return sorted(str(v) for v in o)
    return changes.get(f"{path}={o}", str(o if o is not None else ""))


lists = {
    "dcim.devices": "name site.slug site.region role.slug role platform.slug device_type.model device_type.slug device_type.manufacturer.slug location.name location.site rack.name tenant.slug status.value primary_ip primary_ip4.address primary_ip.dns_name comments",
    "dcim.sites": "name slug region.slug time_zone physical_address latitude",
    "dcim.regions": "name slug parent.slug",
    "dcim.locations": "name slug site.slug parent.slug",
    "dcim.racks": "name site.slug location.name serial asset_tag tenant.slug u_height",
    "dcim.interfaces": "device.name name type.value enabled mtu mac_address speed mode.value untagged_vlan.vid tagged_vlans lag.name parent.name description count_ipaddresses cable.label",
    "ipam.ip_addresses": "address family.value vrf.rd status.value role.value dns_name assigned_object_type assigned_object.name assigned_object.device.name",
    "ipam.prefixes": "prefix vrf.rd status.value scope.name role.name vlan.vid",
    "ipam.vlans": "vid name status.value",
    "ipam.vrfs": "name rd",
    "dcim.manufacturers": "name slug",
    "dcim.platforms": "name slug",
    "tenancy.tenants": "name slug",
}
nb = pynetbox.api(url, token=token)
found = {"version": nb.version.split(".")[0]}
for path, members in lists.items():
    app, endpoint = path.split(".")
    rows = []
    for o in getattr(getattr(nb, app), endpoint).all(limit=50):
        row = {m: value(o, m) for m in members.split()}
        if not skipped(row.get("name", row.get("device.name", "-"))) and not skipped(row.get("device.name", "-")):
            rows.append(row)
    found[path] = sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
for name, devices in {
    "by site": nb.dcim.devices.filter(site="graz", name__ic="sw1"), "by role, strictly": nb.dcim.devices.filter(role="access", status="active", site=["graz"], strict_filters=True),
    "by region": nb.dcim.devices.filter(region="austria"), "by type": nb.dcim.devices.filter(device_type="pp12"), "by rack": nb.dcim.devices.filter(rack_id=[r.id for r in nb.dcim.racks.filter(name="R1")]),
}.items():
    found[name] = sorted(d.name for d in devices if not skipped(d.name))
core = nb.dcim.devices.get(name="core")
found["interfaces of core"] = sorted(i.name for i in nb.dcim.interfaces.filter(device_id=core.id))
found["addresses of core"] = sorted(str(a) for a in nb.ipam.ip_addresses.filter(device="core"))
found["by cursor"] = sum(1 for _ in pynetbox.api(url, token=token, pagination="cursor").dcim.devices.all(limit=7))
found["by threads"] = sum(1 for _ in pynetbox.api(url, token=token, threading=True).dcim.devices.all(limit=7))
found["counted"] = [nb.dcim.devices.count(), nb.dcim.devices.count(site="graz")]

source = directory / "netbox.yml"
source.write_text(json.dumps({
    "plugin": "netbox.netbox.nb_inventory", "api_endpoint": url, "token": token, "config_context": False, "interfaces": True, "dns_name": True, "services": True, "racks": True, "site_data": True,
    "plurals": False, "group_by": ["role", "site", "region", "location", "platform", "manufacturer", "device_type", "rack", "tenant", "tag"],
}))
environ = dict(os.environ, ANSIBLE_HOME=str(directory / "ansible"), HOME=str(directory), ANSIBLE_INVENTORY_UNPARSED_FAILED="true", ANSIBLE_LOCALHOST_WARNING="false")
listed = subprocess.run([str(Path(sys.executable).parent / "ansible-inventory"), "-i", str(source), "--list"], env=environ, capture_output=True, text=True)
if listed.returncode:
    sys.exit(listed.stderr)
inventory = json.loads(listed.stdout, object_hook=lambda o: o.get("__ansible_unsafe", o))
variables = inventory.pop("_meta")["hostvars"]
found["groups"] = {name: sorted(h for h in group.get("hosts", []) + group.get("children", []) if not skipped(h)) for name, group in inventory.items() if name not in ("all", "ungrouped")}
found["hosts"] = {
    host: {k: v.get(k) for k in ("ansible_host", "primary_ip4", "dns_name", "device_type", "role", "location", "regions", "locations")} | {
        "interfaces": sorted((i["name"], sorted(a["address"] for a in i["ip_addresses"])) for i in v["interfaces"]), "site": v["site"]["slug"],
    }
    for host, v in variables.items() if not skipped(host)
}
nornir = NetBoxInventory2(nb_url=url, nb_token=token, include_vms=True, use_platform_slug=True).load()  # which knows only tokens of version 1
found["nornir"] = {name: [h.hostname, h.platform, sorted(g.name for g in h.groups)] for name, h in nornir.hosts.items() if not skipped(name)}
json.dump(found, sys.stdout, indent=1, sort_keys=True)
