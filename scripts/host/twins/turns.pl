#!/usr/bin/perl
# One worker after the other, ten seconds each. Faulty: each keeps its requests while it lives;
# the job does not grow, and a warning says what its workers do.
use strict;
use warnings;
use Time::HiRes qw(time sleep);

my ($seconds, $healthy) = @ARGV;
my $end = time + $seconds;

sub work {
	my $until = time + 10;
	my @kept;
	for (my $i = 0; time < $until && time < $end; $i++) {
		my $request = 'x' x 60000;
		push @kept, $request unless $healthy;
		sleep .02;
	}
	exit 0;
}

while (time < $end) {
	my $pid = fork;
	work() unless $pid;
	waitpid $pid, 0;
}
