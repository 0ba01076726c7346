# Runs a test script in another container, in which processes of the agent may be root.
#
# It starts in a container of its own that shares the process ids of the other one. It enters the other container's
# namespaces with a copy of its mounts, and puts directories of its own container at the places of the tests and
# results. The script gets the other container's capabilities and one more, so the kernel refuses that container's root
# its descriptors, files and memory. Nothing of the other container is executed or loaded before the script.
use strict;
use warnings;

use constant {
    NEW_MOUNTS => 0x20000,
    PRIVATE    => 0x44000,        # MS_REC | MS_PRIVATE
    CLONE_TREE => 02000001,       # OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC
    NO_PATH    => 4,              # MOVE_MOUNT_F_EMPTY_PATH
    HERE       => -100,           # AT_FDCWD
    OWN_QUEUE  => 02004000,       # IN_CLOEXEC | IN_NONBLOCK
    MOVES      => 0x03000EC0,     # names that are moved or removed, of a directory that is no link
    OVERFLOWN  => 0x4000,         # IN_Q_OVERFLOW
    MORE       => 1 << 35,        # CAP_WAKE_ALARM
};

my ($arch, $cwd, $script, $places, @variables) = do {
    open(my $job, "<", "/shield/job") or die "no job: $!\n";
    local $/ = undef;
    split /\0/, <$job>, -1;
};
my @places = split /\n/, $places;    # a higher one comes first
my %number =
    $arch eq "amd64"
    ? (setns => 308, unshare => 272, prctl => 157, capset => 126, mount => 165, queue => 294, watch => 254)
    : (setns => 268, unshare => 97, prctl => 167, capset => 91, mount => 40, queue => 26, watch => 27);
@number{"open_tree", "move_mount"} = (428, 429);
my @calls =    # for each architecture that the processor runs: its name, and its numbers of clone and unshare
    $arch eq "amd64"
    ? ([0xC000003E, 56, 272], [0x40000003, 120, 310])
    : ([0xC00000B7, 220, 97], [0x40000028, 120, 337]);

sub leave {    # the last line tells the harness the outcome
    syswrite(STDERR, "$_[0]\n");
    exit 0;
}

sub call {     # OUTCOME NAME ARGUMENT...
    my ($outcome, $name, @arguments) = @_;
    my $result = syscall($number{$name}, @arguments);
    leave("$outcome $name: $!") if $result < 0;
    return $result;
}

sub identity {
    my @facts = stat $_[0];
    return @facts ? "$facts[0]:$facts[1]" : "";
}

sub above {    # the directories above a path, the highest first
    my @names = split m{/}, $_[0];
    return map { join("/", @names[0 .. $_]) || "/" } 0 .. $#names - 1;
}

sub filter {   # no namespaces of its own, as in an ordinary container: those would give back what was dropped
    my @program;
    for (@calls) {
        my ($name, $clone, $unshare) = @$_;
        push @program,
            [0x20, 0, 0, 4], [0x15, 0, 10, $name],
            [0x20, 0, 0, 0], [0x54, 0, 0, 0xBFFFFFFF],
            [0x15, 5, 0, $unshare], [0x15, 5, 0, 435], [0x15, 0, 2, $clone],
            [0x20, 0, 0, 16], [0x45, 1, 0, 0x7E020000],
            [0x06, 0, 0, 0x7FFF0000], [0x06, 0, 0, 0x50001], [0x06, 0, 0, 0x50026];
    }
    push @program, [0x06, 0, 0, 0x50001];
    return map { pack("SCCL", @$_) } @program;
}

my @trees;
for my $number (0 .. $#places) {
    my $own = "/shield/trees/$number";
    push @trees, [call("unable", "open_tree", HERE, $own, CLONE_TREE), $places[$number], identity($own)];
}
open(my $status, "<", "/proc/1/status") or leave("unable to look at the container: $!");
my ($allowed) = map { /^CapBnd:\s*(\w+)/ ? hex $1 : () } <$status>;
my @spaces;
for my $kind (qw(net ipc uts mnt)) {
    open(my $space, "<", "/proc/1/ns/$kind") or leave("unable to open its namespace $kind: $!");
    push @spaces, $space;
}
call("unable", "setns", fileno($_), 0) for @spaces;
call("unable", "unshare", NEW_MOUNTS);
my ($none, $root, $empty) = ("none", "/", "");
call("unable", "mount", $none, $root, 0, PRIVATE, 0);

my %above = map { $_ => 1 } map { above($_) } @places;
my @above = sort { length $a <=> length $b } keys %above;
for my $directory (@above, @places) {
    unlink $directory if -l $directory || !-d _;
    mkdir $directory;
}
my $queue = call("crowded", "queue", OWN_QUEUE);
my %watched;    # the name that must stay, by the number of its directory
for my $directory (@above) {
    my $number = call("crowded", "watch", $queue, $directory, MOVES);
    for my $path (@above, @places) {
        my ($parent, $name) = $path =~ m{^(.*)/([^/]+)$} or next;
        $watched{$number}{$name} = 1 if ($parent || "/") eq $directory;
    }
}
for (@trees) {
    my ($tree, $place) = @$_;
    call("moved $place:", "move_mount", $tree, $empty, HERE, $place, NO_PATH);
}
for (@trees) {
    my ($tree, $place, $identity) = @$_;
    leave("moved $place") if identity($place) ne $identity;
}

sub dropped {    # leaves the process with the rights of the other container's root and one more; or the call that failed
    my $kept = $allowed | MORE;
    for my $number (0 .. 63) {
        next if $kept & (1 << $number);
        last if syscall($number{prctl}, 24, $number, 0, 0, 0) < 0;    # the kernel knows no more
    }
    my ($low, $high) = ($kept & 0xFFFFFFFF, $kept >> 32);
    my ($header, $sets) = (pack("LL", 0x20080522, 0), pack("L6", $low, $low, 0, $high, $high, 0));
    return "capset" if syscall($number{capset}, $header, $sets) < 0;
    my @program = filter();
    my $filter  = join("", @program);
    my $pointer = pack("Sx6P", scalar @program, $filter);
    return "seccomp" if syscall($number{prctl}, 22, 2, $pointer, 0, 0) < 0;
    return "";
}

pipe(my $reading, my $writing) or leave("crowded pipe: $!");
my $main = fork;
leave("crowded fork: $!") if !defined $main;
if (!$main) {
    setpgrp(0, 0);    # a script may signal its own group
    open(STDERR, ">&", \*STDOUT);
    if (my $failed = dropped()) {
        syswrite($writing, "$failed: $!");
        exit 0;
    }
    open(STDIN, "<", "/dev/null");
    chdir $cwd or chdir "/";
    %ENV = map { /^([^=]+)=(.*)$/s ? ($1, $2) : () } @variables;
    { exec { "bash" } "bash", "-c", $script; }
    syswrite(STDOUT, "bash: $!\n");
    exit 127;
}
close $writing;
leave("unable $_") for <$reading>;
waitpid $main, 0;
my $end = $?;

open(my $events, "<&=", $queue) or leave("crowded events: $!");
while (my $size = sysread($events, my $buffer, 1 << 16)) {
    while (length $buffer) {
        my ($number, $mask, undef, $length) = unpack("lLLL", $buffer);
        my (undef, $name) = unpack("a16Z$length", $buffer);
        substr($buffer, 0, 16 + $length) = "";
        leave("moved $name") if $mask & OVERFLOWN || ($watched{$number} && $watched{$number}{$name});
    }
}
leave("ended $end");
