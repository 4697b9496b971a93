#!/usr/bin/env bash
# netlab.sh [-n HOSTS] [--loss PERCENT] [--rate MBIT] -- COMMAND...: runs a command on each of several hosts, which are
# network namespaces of this machine behind one bridge, and returns the first exit status that is not 0. The command
# finds NETLAB_HOST (0, 1, …), NETLAB_HOSTS, NETLAB_ADDRESS (its own), NETLAB_FIRST (that of host 0), and
# GLOO_SOCKET_IFNAME. Needs root, and the packages iproute2 and nftables; exit status 77 where namespaces cannot be made.
set -euo pipefail

usage() {
  sed -n '2,5s/^# //p' "$0"
  exit "${1:-2}"
}
hosts=2 loss=0 rate=
while (($#)); do
  case $1 in
    -n) hosts=$2 && shift 2 ;;
    --loss) loss=$2 && shift 2 ;;
    --rate) rate=$2 && shift 2 ;;
    --) shift && break ;;
    --help | -h) usage 0 ;;
    *) usage ;;
  esac
done
(($#)) || usage

lab=plait$$
cleanup() {
  local host
  for ((host = 0; host < hosts; ++host)); do
    ip netns pids "$lab-$host" 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns delete "$lab-$host" 2>/dev/null || true
  done
  ip link delete "$lab" 2>/dev/null || true
}
trap cleanup EXIT

refuse() {
  echo "netlab.sh: no hosts can be made here: they need root, and a kernel with network namespaces, bridges, veth and nftables" >&2
  exit 77
}
if ! ip netns add "$lab-0" 2>/dev/null || ! ip link add "$lab" type bridge 2>/dev/null; then refuse; fi
ip netns delete "$lab-0"
ip link set "$lab" up

# Drops packets at random as they arrive.
lose() {
  nft -f - <<RULES
table inet lab {
  chain arriving {
    type filter hook input priority 0;
    iifname "eth0" numgen random mod 1000 < $(awk -v loss="$loss" 'BEGIN { print int(loss * 10) }') drop
  }
}
RULES
}

for ((host = 0; host < hosts; ++host)); do
  name=$lab-$host
  ip netns add "$name"
  ip link add "v$host.$$" type veth peer name eth0 netns "$name" || refuse
  ip link set "v$host.$$" master "$lab" up
  ip -n "$name" address add "10.83.0.$((host + 1))/24" dev eth0
  ip -n "$name" link set eth0 up
  ip -n "$name" link set lo up
  [[ -z $rate ]] || ip netns exec "$name" tc qdisc add dev eth0 root tbf rate "${rate}mbit" burst 256kb latency 50ms
  if [[ $loss != 0 ]]; then ip netns exec "$name" bash -c "$(declare -f lose); loss=$loss lose" || refuse; fi
done

running=()
for ((host = 0; host < hosts; ++host)); do
  NETLAB_HOST=$host NETLAB_HOSTS=$hosts NETLAB_ADDRESS=10.83.0.$((host + 1)) NETLAB_FIRST=10.83.0.1 \
    GLOO_SOCKET_IFNAME=eth0 ip netns exec "$lab-$host" "$@" &
  running+=($!)
done
status=0
for process in "${running[@]}"; do
  ended=0
  wait "$process" || ended=$?
  ((status)) || status=$ended
done
exit "$status"
