#!/usr/bin/env bash
# fresh.sh [TARGET...]: makes each target (demo, test) in a fresh Debian 12 that has only git and make, with a clean
# clone of the current commit, and prints the time of each. The Debian is installed below TMPDIR (/var/tmp) from this
# machine's mirror (or PLAIT_DEBIAN_MIRROR), and removed afterwards, unless KEEP=1.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

((EUID == 0)) || die "make fresh makes a chroot, which only root may: sudo make fresh"
targets=("$@")
((${#targets[@]})) || targets=(demo test)
folder=$(mktemp -d "${TMPDIR:-/var/tmp}/plait-fresh.XXXXXX")
root=$folder/root

mounts_below() { awk -v below="$folder/" 'index($2, below) == 1 {print $2}' /proc/self/mounts | sort -r; }

# Nothing is removed while a mount of this machine exists below the folder.
clean_up() {
  local mount
  for mount in $(mounts_below); do umount "$mount" || umount --lazy "$mount" || true; done
  if [[ -n $(mounts_below) ]]; then
    say "still mounted, so left in place: $folder"
  elif [[ ${KEEP:-0} == 1 ]]; then
    say "kept: $root"
  else
    rm -rf --one-file-system "$folder"
  fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# "URI SUITE" for each Debian 12 archive in apt's configuration, in either format.
sources() {
  if [[ -n ${PLAIT_DEBIAN_MIRROR:-} ]]; then
    say "$PLAIT_DEBIAN_MIRROR bookworm"
    return
  fi
  # shellcheck disable=SC2016 # apt expands these
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk '$2 ~ /^bookworm(-updates|-security)?$/ && $3 == "main" {print $1, $2}' | sort -u
}

make_debian() {
  local mirror proxy=""
  mirror=$(sources | awk '$2 == "bookworm" {print $1; exit}')
  [[ -n $mirror ]] || die "apt here knows no Debian 12 archive; name one in PLAIT_DEBIAN_MIRROR"
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  http_proxy=${proxy:-${http_proxy:-}} debootstrap --variant=minbase --include=ca-certificates,git,make \
    bookworm "$root" "$mirror" >"$folder/debootstrap.log" 2>&1 || {
    tail -n 20 "$folder/debootstrap.log"
    return 1
  }
  sources | sed 's/^/deb /; s/$/ main/' >"$root/etc/apt/sources.list"
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
}

# Configuration for access to archives: proxies, certificates, pip.
carried_variables=(http_proxy https_proxy no_proxy PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST
  PIP_PROXY PIP_DEFAULT_TIMEOUT PIP_CERT SSL_CERT_FILE REQUESTS_CA_BUNDLE)
carry_configuration() {
  local file variable
  apt-config dump Acquire >"$root/etc/apt/apt.conf.d/90host"
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
    cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
  fi
  chroot "$root" update-ca-certificates >/dev/null 2>&1
  if [[ -f /etc/pip.conf ]]; then cp /etc/pip.conf "$root/etc/pip.conf"; fi
  for file in ~/.pip/pip.conf ~/.config/pip/pip.conf; do
    if [[ -f $file ]]; then install -D -m 600 "$file" "$root/root/.config/pip/pip.conf"; fi
  done
  environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8)
  for variable in "${carried_variables[@]}"; do
    [[ -n ${!variable:-} ]] || continue
    environment+=("$variable=${!variable}")
    if [[ -f ${!variable} ]]; then install -D -m 644 "${!variable}" "$root${!variable}"; fi
  done
}

megabytes() { du --summarize --one-file-system --block-size=1M "$root" | cut -f1; }

lines=()
make_target() {
  local start=$SECONDS before status=0
  before=$(megabytes)
  chroot "$root" env -i "${environment[@]}" make -C /plait "$1" || status=$?
  lines+=("$(printf 'make %-5s %4d s, %5d MB more disk, status %d' "$1" $((SECONDS - start)) \
    $(($(megabytes) - before)) "$status")")
  return "$status"
}

step "A fresh Debian 12 in $folder" make_debian
carry_configuration
git clone --quiet --no-hardlinks . "$root/plait"
lines+=("Debian with git and make: $(megabytes) MB")
status=0
for target in "${targets[@]}"; do
  step "make $target in it" make_target "$target" || status=1
done
say "== Fresh Debian 12, commit $(git rev-parse --short HEAD), $(nproc) cores, $(awk '/^MemTotal/ {
  printf "%.0f", $2 / 1048576}' /proc/meminfo) GiB of memory"
printf '   %s\n' "${lines[@]}"
exit "$status"
