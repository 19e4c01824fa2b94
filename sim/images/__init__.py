"""What a machine boots from: kernel images, user programs, disk images."""
